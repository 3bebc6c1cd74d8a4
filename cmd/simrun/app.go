package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/scenarios/controls"
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
		if strings.HasPrefix(e.Error(), "unknown ") {
			fmt.Fprintf(err, "  `%s --help` shows what there is\n", me())
		}
		return exitUsage
	}
}

// me is how this program is called in the commands that it prints.
func me() string {
	switch a := os.Args[0]; {
	case filepath.Base(a) != "simrun":
		return "simrun"
	case strings.Contains(a, "go-build"):
		return "go run ./cmd/simrun"
	default:
		return a
	}
}

// one is the check of commands that take one argument.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("name one %s", what)
		}
		return nil
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
  simrun campaign payments --engine commit-early     a known-bad engine: what it looks like when one is caught
  simrun repro scenarios/testdata/dropped-marker-k44.plan     a plan again
  simrun controls                               the known-bad engines, each of which must be caught
  simrun hazards                                what can go wrong with Kafka, release by release`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON document to stdout; progress goes to stderr")
	root.AddCommand(a.list(), a.runOne(), a.campaign(), a.repro(), a.shrink(), a.controls(), a.determinism(), a.check(), a.hazards())
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

// knownEngine is a check of --engine.
func knownEngine(name string) error {
	if _, ok := controls.Find(name); !ok {
		return fmt.Errorf("there is no engine %q; `simrun list` shows all", name)
	}
	return nil
}

// interrupted is the end of a command that was stopped before it was through: what it did not come to is neither good nor bad.
func interrupted(ctx context.Context, what string, args ...any) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("interrupted after "+what, args...)
}

// positive is a check of a flag that counts.
func positive(flag string, n int) error {
	if n < 1 {
		return fmt.Errorf("--%s %d: want a whole number from 1 on", flag, n)
	}
	return nil
}
