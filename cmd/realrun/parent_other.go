//go:build !linux

package main

import "os/exec"

// diesWithParent does nothing where the system cannot.
func diesWithParent(*exec.Cmd) {}
