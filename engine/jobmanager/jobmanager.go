// Package jobmanager is the process that owns a job: it claims generations, restores, deploys, takes checkpoints through
// to their confirmation, and starts again after failures.
package jobmanager

import (
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
)

// JobManager is one JobManager process's actor.
type JobManager struct {
	p    *proc.Process
	cfg  Config
	loop env.Loop
}

// New starts a JobManager on a loop of its own. It listens at the process's address.
func New(p *proc.Process, cfg Config) *JobManager {
	return &JobManager{p: p, cfg: cfg.withDefaults(), loop: p.NewLoop("jobmanager")}
}

// Savepoint takes a savepoint and reports the key of its seal once its tokens are confirmed. It may be called from any
// loop of the process; done runs on a loop of the JobManager.
func (j *JobManager) Savepoint(done func(n id.Checkpoint, seal blob.Key, err error)) {}

// Stop stops the job with a savepoint: sources emit nothing after its barrier, and the job stops when it is sealed. It may
// be called from any loop of the process; the outcome is an event.
func (j *JobManager) Stop() {}
