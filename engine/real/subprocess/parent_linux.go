package subprocess

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the system kill the process when the thread that starts it ends, and keeps signals of the terminal away.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
