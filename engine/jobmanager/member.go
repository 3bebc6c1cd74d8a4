package jobmanager

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/token"
	"github.com/onefold/onefold/engine/wire"
)

// member is one connection of a TaskManager, registered once it has said who it is.
type member struct {
	j     *JobManager
	conn  env.Conn
	heard env.Instant
	name  env.Addr // "" before Register
	slots int32
	used  bool // hosts tasks of the present generation

	followed  id.Generation
	silentFor uint64 // milliseconds since it heard an active JobManager, when it was heard itself
}

// OnClose implements env.Handler.
func (m *member) OnClose(env.Conn, error) { m.lost("connection broken") }

// OnMessage implements env.Handler.
func (m *member) OnMessage(_ env.Conn, frame []byte) {
	if m.conn == nil {
		return
	}
	msg, err := wire.Decode(frame)
	if err != nil {
		m.lost(err.Error())
		return
	}
	m.heard = m.j.p.Now()
	switch msg := msg.(type) {
	case *wire.Register:
		m.register(msg)
	case *wire.Pulse:
		m.followed, m.silentFor = msg.Followed, msg.SilentForMs
		m.j.see(msg.Followed)
		m.j.doubt(msg.Followed)
	case *wire.Outdated:
		m.j.doubt(msg.Followed)
	default:
		m.j.relay(msg)
	}
}

// register makes the connection a member. An older one of the same TaskManager is lost: the process was started again,
// or the connection was.
func (m *member) register(r *wire.Register) {
	j := m.j
	if m.name != "" || r.Slots < 0 {
		m.lost("registered twice, or with a negative number of slots")
		return
	}
	for _, o := range slices.Clone(j.members) {
		if o.name == r.TaskManager {
			o.lost("registered anew")
		}
	}
	m.name, m.slots, m.followed = r.TaskManager, r.Slots, r.Followed
	j.see(r.Followed)
	j.members = append(j.members, m)
	slices.SortStableFunc(j.members, func(a, b *member) int { return strings.Compare(string(a.name), string(b.name)) })
	m.send(j.announcement())
	j.consider()
}

// send encodes and sends one message.
func (m *member) send(msg wire.Message) {
	if m.conn != nil {
		m.conn.Send(wire.Encode(msg))
	}
}

func (m *member) cancel(g id.Generation) { m.send(&wire.Cancel{Generation: g}) }

// lost gives the connection up. If tasks of the present generation run there, the generation has failed.
func (m *member) lost(why string) {
	if m.conn == nil {
		return
	}
	m.conn.Close()
	m.conn = nil
	j := m.j
	i := slices.Index(j.members, m)
	if i < 0 {
		return
	}
	j.members = slices.Delete(j.members, i, i+1)
	if !m.used {
		return
	}
	j.p.Reached(lostOne)
	if j.present != nil {
		j.failed(j.present, fmt.Sprintf("TaskManager %s lost: %s", m.name, why))
	}
}

// announcement says whether this JobManager is active.
func (j *JobManager) announcement() wire.Message {
	return &wire.Beat{Generation: j.owned, Active: j.owned > 0 && !j.over}
}

// beat sends heartbeats and gives up silent connections.
func (j *JobManager) beat() {
	now := j.p.Now()
	for _, m := range slices.Clone(j.members) {
		if now.Sub(m.heard) > j.cfg.HeartbeatTimeout {
			m.lost(fmt.Sprintf("no heartbeat for %v", now.Sub(m.heard)))
			continue
		}
		m.send(j.announcement())
	}
}

// slots is how many slots are registered.
func (j *JobManager) slots() int32 {
	n := int32(0)
	for _, m := range j.members {
		n += m.slots
	}
	return n
}

// missed reports whether every registered TaskManager misses an active JobManager.
func (j *JobManager) missed() bool {
	for _, m := range j.members {
		silent := int64(m.silentFor)*1e6 + int64(j.p.Now().Sub(m.heard))
		if silent < int64(j.cfg.HeartbeatTimeout) {
			return false
		}
	}
	return len(j.members) > 0
}

// doubt has the generation read the log when a TaskManager follows a newer one.
func (j *JobManager) doubt(followed id.Generation) {
	if r := j.present; r != nil && j.owned > 0 && followed > j.owned {
		r.loop.Post(r.doubt)
	}
}

// relay hands a task's message to the present generation, which looks whether it belongs to it.
func (j *JobManager) relay(msg wire.Message) {
	if r := j.present; r != nil && j.owned > 0 {
		g := j.owned
		r.loop.Post(func() { r.heard(g, msg) })
	}
}

// places spreads slots over the TaskManagers in turn: slot i of the plan, and where it is.
func (j *JobManager) places(need int32) []*member {
	left := make([]int32, len(j.members))
	for i, m := range j.members {
		left[i] = m.slots
	}
	var out []*member
	for int32(len(out)) < need {
		before := len(out)
		for i, m := range j.members {
			if left[i] > 0 && int32(len(out)) < need {
				left[i]--
				out = append(out, m)
			}
		}
		if len(out) == before {
			return nil
		}
	}
	return out
}

// deploy sends each TaskManager its part of the plan. The message's places and subtasks are filled in here.
func (j *JobManager) deploy(r *generation, d wire.Deploy) {
	if j.present != r {
		return
	}
	slots := j.places(j.plan.Slots())
	if slots == nil {
		j.failed(r, fmt.Sprintf("%d of %d slots are left", j.slots(), j.plan.Slots()))
		return
	}
	for _, m := range slots {
		d.Places = append(d.Places, m.name)
		m.used = true
	}
	all := d.Subtasks
	for _, m := range j.members {
		if !m.used {
			continue
		}
		d.Subtasks = nil
		for _, a := range all {
			if slots[j.plan.Slot(a.Subtask)] == m {
				d.Subtasks = append(d.Subtasks, a)
			}
		}
		m.send(&d)
	}
}

// broadcast sends a message of a generation to all TaskManagers that host its tasks.
func (j *JobManager) broadcast(r *generation, msg wire.Message) {
	if j.present != r {
		return
	}
	for _, m := range j.members {
		if m.used {
			m.send(msg)
		}
	}
}

// notify sends the notice of a completed checkpoint. Every TaskManager is told all tokens; each picks its own.
func (j *JobManager) notify(r *generation, n id.Checkpoint, tokens []token.Token) {
	j.broadcast(r, &wire.Notice{Generation: r.number, Checkpoint: n, Tokens: tokens})
}
