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

// Memory that is there is traded for speed: a world is small, and short-lived. Both give way to GOGC and GOMEMLIMIT.
const (
	gcPercent   = 1000
	memoryLimit = 8 << 30
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
