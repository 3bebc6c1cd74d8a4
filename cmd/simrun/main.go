// Command simrun runs scenarios of the engine in the deterministic simulator: one seed, thousands of seeds, a failure again
// from its plan, a failing plan made smaller, and the known-bad engines that a campaign must catch.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// gcPercent trades memory that is there for speed: a world is small, and short-lived.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
