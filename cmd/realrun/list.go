package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/scenarios/jobs"
)

func newList(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "the jobs of the catalogue and their topics",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			type job struct {
				Name    string   `json:"name"`
				Doc     string   `json:"doc"`
				Inputs  []string `json:"inputs"`
				Outputs []string `json:"outputs"`
			}
			var all []job
			for _, s := range jobs.All() {
				all = append(all, job{s.Name, s.Doc, s.Inputs, s.Outputs})
				c.print("%-10s %s\n           %s -> %s", s.Name, s.Doc, strings.Join(s.Inputs, ", "), strings.Join(s.Outputs, ", "))
			}
			c.print("\nnext: %s run payments --demo --state /tmp/demo", me())
			return c.document(map[string]any{"jobs": all})
		},
	}
}

// find is the job that is named, or an error that lists what there is.
func find(name string) (jobs.Spec, error) {
	s, ok := jobs.Find(name)
	if ok {
		return s, nil
	}
	var names []string
	for _, s := range jobs.All() {
		names = append(names, s.Name)
	}
	return s, fmt.Errorf("there is no job %q; there are: %s", name, strings.Join(names, ", "))
}

// oneJob is the argument check of commands that take a job.
func oneJob(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one job; `realrun list` shows them")
	}
	_, err := find(args[0])
	return err
}

// complete offers the names of jobs to the shell.
func complete(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, s := range jobs.All() {
			names = append(names, s.Name+"\t"+s.Doc)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
