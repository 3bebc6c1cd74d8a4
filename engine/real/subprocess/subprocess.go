// Package subprocess starts processes that end with this one: brokers and jobs that are killed, held and started again.
package subprocess

import (
	"os/exec"
	"runtime"
)

// Start starts a command. The system ties the process to the thread that starts it, so that thread does nothing else: it calls
// wait, which returns when the process has ended.
func Start(cmd *exec.Cmd, wait func()) error {
	dieWithParent(cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			wait()
		}
	}()
	return <-started
}
