package main

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// profiled runs fn and writes a CPU profile of the process to the file, if one is named.
func profiled(file string, fn func() error) error {
	if file == "" {
		return fn()
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("--cpuprofile: %w", err)
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("--cpuprofile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return fn()
}
