package main

import (
	"github.com/spf13/cobra"

	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/scenarios/controls"
)

type listed struct {
	Name     string   `json:"name"`
	Doc      string   `json:"doc"`
	Job      string   `json:"job,omitempty"`
	Verdicts []string `json:"verdicts,omitempty"`
}

func (a *app) list() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Scenarios, and the known-bad engines of `controls`",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var all struct {
				Scenarios []listed `json:"scenarios"`
				Engines   []listed `json:"engines"`
			}
			for _, s := range scenarios.Catalogue() {
				all.Scenarios = append(all.Scenarios, listed{Name: s.Name, Doc: s.Doc, Job: s.Job})
			}
			for _, e := range append([]controls.Engine{controls.Sound()}, controls.All()...) {
				l := listed{Name: e.Name, Doc: e.Doc}
				for _, v := range e.Verdicts {
					l.Verdicts = append(l.Verdicts, v.String())
				}
				all.Engines = append(all.Engines, l)
			}
			if a.json {
				return a.document(all)
			}
			a.printf("Scenarios (simrun run NAME, simrun campaign NAME):\n")
			for _, l := range all.Scenarios {
				a.printf("  %-22s %s\n", l.Name, l.Doc)
			}
			a.printf("\nEngines (--engine NAME): sound, and those that simrun controls must catch:\n")
			for _, l := range all.Engines {
				a.printf("  %-22s %s\n", l.Name, l.Doc)
			}
			return nil
		},
	}
}
