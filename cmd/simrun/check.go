package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios/oracle"
)

func (a *app) check() *cobra.Command {
	var job string
	c := &cobra.Command{
		Use:     "check FILE",
		Short:   "Judge a stored history, with no engine at hand",
		Example: `  simrun check reports/out/payments-42/history.jsonl --job payments`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o, ok := oracle.Find(job)
			if !ok {
				return fmt.Errorf("there is no oracle for job %q", job)
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			h, err := checker.Load(f)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			r := checker.Check(h, o, checker.Options{Complete: h.Run.Settled})
			if a.json {
				err = a.document(r)
			} else {
				for _, x := range r.Findings {
					a.printf("%-8s %s: %s\n", x.Verdict, x.Property, x.Detail)
				}
				a.printf("%v: %d records, %d epochs compared\n", r.Verdict, r.Compared.Records, r.Compared.Epochs)
			}
			if err == nil && r.Verdict != checker.Clean {
				return errAgainst
			}
			return err
		},
	}
	c.Flags().StringVar(&job, "job", "payments", "the job whose records the history holds")
	return c
}
