// Package exchange moves batches between the subtasks of a job: by handing them over within a process, by frames between
// processes. There is one Exchange per TaskManager.
//
// Each channel has credits. A sender may have as many batches under way as the receiver has granted; a receiver grants one
// back for each batch that it has read to the end. So a receiver that is blocked or busy stops its senders, and nothing is
// buffered beyond the credits.
package exchange

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
)

// Options are chosen by the world.
type Options struct {
	// Credits per channel; 4 if zero.
	Credits int
	// Frames makes edges within the process carry frames, too; DrawFrames draws it for each channel.
	Frames, DrawFrames bool
	// Poison overwrites freed batches.
	Poison bool
}

// Exchange is the data mover of one TaskManager.
type Exchange struct {
	p    *proc.Process
	loop env.Loop
	opt  Options
}

// New makes the exchange of a process. It owns the process's listener. loop is the TaskManager's, or one of its own.
func New(p *proc.Process, loop env.Loop, opt Options) *Exchange {
	return &Exchange{p: p, loop: loop, opt: opt}
}
