package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitClean   = 0
	exitAgainst = 1 // a verdict against, or loud loss
	exitUsage   = 2 // usage or environment, or displaced by another process
)

// exit is an error with its exit code. An empty text is not printed: the output has said it.
type exit struct {
	code int
	text string
}

func (e exit) Error() string { return e.text }

// console is where a command talks to: one document or plain text on out, progress and errors on err.
type console struct {
	out, err io.Writer
	json     bool
}

// say is progress.
func (c *console) say(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// print is a result for people; nothing with --json.
func (c *console) print(format string, args ...any) {
	if !c.json {
		fmt.Fprintf(c.out, format+"\n", args...)
	}
}

// document is the one document of --json.
func (c *console) document(v any) error {
	if !c.json {
		return nil
	}
	e := json.NewEncoder(c.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func execute(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer stop()
	root := newRoot(&console{out: out, err: errOut})
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	var e exit
	switch {
	case err == nil:
		return exitClean
	case errors.As(err, &e):
		if e.text != "" {
			fmt.Fprintln(errOut, "realrun:", e.text)
		}
		return e.code
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted%s", afterCanceled(err))
	}
	fmt.Fprintln(errOut, "realrun:", err)
	if strings.HasPrefix(err.Error(), "unknown ") || strings.HasPrefix(err.Error(), "required flag") {
		fmt.Fprintf(errOut, "  `%s --help` shows what there is\n", me())
	}
	return exitUsage
}

// afterCanceled is what an error says behind "context canceled": where the logs are. What it says before that is what happened to
// be under way.
func afterCanceled(err error) string {
	_, rest, _ := strings.Cut(err.Error(), context.Canceled.Error())
	return rest
}

// me is how this program is called in the commands that it prints.
func me() string {
	switch a := os.Args[0]; {
	case strings.Contains(a, "go-build"):
		return "go run ./cmd/realrun"
	case strings.Contains(a, "/"):
		return a
	}
	return "realrun"
}

func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "realrun",
		Short: "run jobs exactly-once on Kafka, and prove what they wrote",
		Long: "realrun runs the jobs of the catalogue on a real Kafka, or on the one that it carries (embedded), and judges their\n" +
			"output with the checker that judges the simulator's runs.\n\n" +
			"Exit codes: 0 clean, 1 a verdict against or loud loss, 2 usage, environment, or displaced by another process.",
		Example: strings.Trim(`
  realrun run payments --demo --state /tmp/demo          everything at once on the embedded Kafka
  realrun generate payments --records 100000 --brokers 127.0.0.1:9092
  realrun run payments --brokers 127.0.0.1:9092 --state /tmp/payments --bounded
  realrun verify payments --brokers 127.0.0.1:9092 --state /tmp/payments
  realrun chaos --plan killed-at-commit                   a fault plan on processes of this machine, judged`, "\n"),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().BoolVar(&c.json, "json", false, "one JSON document on stdout, progress on stderr")
	root.AddCommand(newList(c), newRun(c), newGenerate(c), newVerify(c), newBroker(c), newTopic(c), newConform(c), newChaos(c))
	return root
}
