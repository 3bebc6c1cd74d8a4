package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios/jobs"
	"github.com/onefold/onefold/scenarios/oracle"
)

func (a *app) check() *cobra.Command {
	var job string
	c := &cobra.Command{
		Use:     "check FILE",
		Short:   "Judge a stored history, with no engine at hand",
		Example: `  simrun check reports/out/payments-13-DUP-commit-early/history.jsonl`,
		Args:    one("history, as a campaign writes it into a failure's folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			h, err := checker.Load(f)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			name, err := jobOf(h, job)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			o, ok := oracle.Find(name)
			if !ok {
				return fmt.Errorf("there is no oracle for job %q", name)
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
	c.Flags().StringVar(&job, "job", "", "the job whose records the history holds; without it the topics tell")
	return c
}

// jobOf is the job that has a history's topics: another one's oracle would judge what it cannot read.
func jobOf(h *checker.History, want string) (string, error) {
	var topics, names []string
	for _, t := range h.Topics {
		topics = append(topics, t.Name)
	}
	for _, s := range jobs.All() {
		names = append(names, s.Name)
		has := slices.Concat(s.Inputs, s.Outputs)
		strange := slices.ContainsFunc(topics, func(t string) bool { return !slices.Contains(has, t) })
		switch {
		case s.Name == want && strange:
			return "", fmt.Errorf("it holds %s, and job %s has %s", strings.Join(topics, ", "), want, strings.Join(has, ", "))
		case s.Name == want, want == "" && !strange && len(topics) > 0:
			return s.Name, nil
		}
	}
	if want != "" {
		return "", fmt.Errorf("there is no job %q; there are: %s", want, strings.Join(names, ", "))
	}
	return "", fmt.Errorf("no job has the topics %s; --job names one of %s", strings.Join(topics, ", "), strings.Join(names, ", "))
}
