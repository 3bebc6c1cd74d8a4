// Package taskmanager is the process that hosts tasks: it registers with the JobManagers, follows the highest generation,
// and stops its tasks by itself when it hears no JobManager any more.
package taskmanager

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
)

// TaskManager is one TaskManager process's actor.
type TaskManager struct {
	p    *proc.Process
	cfg  Config
	loop env.Loop
}

// New starts a TaskManager on a loop of its own.
func New(p *proc.Process, cfg Config) *TaskManager {
	return &TaskManager{p: p, cfg: cfg.withDefaults(), loop: p.NewLoop("taskmanager")}
}
