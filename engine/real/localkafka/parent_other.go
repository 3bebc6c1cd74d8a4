//go:build !linux

package localkafka

import "os/exec"

// dieWithParent does nothing where the system cannot; Close ends the brokers.
func dieWithParent(*exec.Cmd) {}
