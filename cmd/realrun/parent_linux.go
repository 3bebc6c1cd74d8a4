package main

import (
	"os/exec"
	"syscall"
)

// diesWithParent has the system kill the process when the thread that starts it ends, and keeps the terminal's signals away.
func diesWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
