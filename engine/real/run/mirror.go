package run

import (
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/proc"
)

// mirror commits the positions of confirmed checkpoints to a consumer group, so that lag tools see the job. They are never read
// back; what fails is logged and replaced by the next checkpoint's.
type mirror struct {
	group  string
	loop   env.Loop
	client *kafka.Client
	log    func(format string, args ...any)
	newest id.Checkpoint
}

func newMirror(p *proc.Process, group string) *mirror {
	l := p.NewLoop("mirror")
	return &mirror{group: group, loop: l, client: kafka.New(kafka.Config{Process: p, Loop: l}), log: p.Log}
}

// confirmed is handed to the JobManager; it is called on loops of its generations.
func (m *mirror) confirmed(_ env.Loop, n id.Checkpoint, positions []checkpoint.Position) {
	m.loop.Post(func() { m.commit(n, positions) })
}

func (m *mirror) commit(n id.Checkpoint, positions []checkpoint.Position) {
	if n <= m.newest {
		return
	}
	m.newest = n
	offsets := make([]kafka.Offset, 0, len(positions))
	for _, p := range positions {
		offsets = append(offsets, offset(p))
	}
	m.client.OffsetCommit(m.group, offsets, func(code kafka.Code, err error) {
		if err != nil || code != kafka.OK {
			m.log("positions of checkpoint %d not mirrored to group %s: %v %v", n, m.group, code, err)
		}
	})
}

func offset(p checkpoint.Position) kafka.Offset {
	return kafka.Offset{Topic: p.Topic, Partition: p.Partition, Offset: p.Position}
}
