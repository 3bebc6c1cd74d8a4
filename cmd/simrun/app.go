package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitClean   = 0
	exitAgainst = 1 // a verdict against
	exitUsage   = 2 // usage or environment
)

// errAgainst ends a command whose verdict was printed already.
var errAgainst = errors.New("verdict against")

// app is what the commands share.
type app struct {
	out, err io.Writer
	json     bool
}

// run is main without the process.
func run(ctx context.Context, args []string, out, err io.Writer) int {
	a := &app{out: out, err: err}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(err)
	switch e := root.ExecuteContext(ctx); {
	case e == nil:
		return exitClean
	case errors.Is(e, errAgainst):
		return exitAgainst
	default:
		fmt.Fprintf(err, "simrun: %v\n", e)
		return exitUsage
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "simrun",
		Short: "Run the engine in a deterministic simulator, where a seed chooses every failure",
		Long: `simrun runs the engine on a simulated cluster: brokers, network, clock and blob store in virtual time, with faults
drawn from a seed. An independent checker judges what a read_committed reader saw. The same seed gives the same run,
on every machine.

Exit codes: 0 clean, 1 a verdict against, 2 usage or environment.`,
		Example: `  simrun list                                   what there is
  simrun run payments --seed 42                 one seed
  simrun campaign payments --seeds 1000         a thousand
  simrun repro scenarios/testdata/lost.plan     a failure again
  simrun controls                               the known-bad engines, each of which must be caught`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON document to stdout; progress goes to stderr")
	root.AddCommand(a.list(), a.runOne(), a.campaign(), a.repro(), a.shrink(), a.controls(), a.determinism(), a.check())
	return root
}

// document prints v as the one JSON document of a command.
func (a *app) document(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// positive is a check of a flag that counts.
func positive(flag string, n int) error {
	if n < 1 {
		return fmt.Errorf("--%s %d: want a whole number from 1 on", flag, n)
	}
	return nil
}
