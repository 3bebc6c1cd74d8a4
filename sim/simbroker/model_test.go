package simbroker

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// txnModel is a second, slow implementation of a transactional id: what its coordinator and three partitions do when
// nothing is concurrent. It is written from the tables, not from the code.
type txnModel struct {
	version     int // of the protocol that the client speaks: 1 or 2
	state       TxnState
	epoch, last int16
	added       [3]bool
	seq         [3]int32
	seqEpoch    [3]int16 // epoch for which seq counts
	pending     [3][]string
	visible     [3][]string
}

func (m *txnModel) finish(commit bool) {
	for p := range m.pending {
		if commit {
			m.visible[p] = append(m.visible[p], m.pending[p]...)
		}
		m.pending[p], m.added[p] = nil, false
	}
	m.state = CompleteAbort
	if commit {
		m.state = CompleteCommit
	}
}

// abortInside is a timeout or a fence.
func (m *txnModel) abortInside() {
	m.finish(false)
	m.last = m.epoch
	if m.version == 1 {
		m.last = -1
	}
	m.epoch++
}

func (m *txnModel) init() {
	if m.state == Ongoing {
		m.abortInside()
	}
	m.epoch, m.last, m.state = m.epoch+1, -1, Empty
}

func (m *txnModel) initExpected(e int16) (code, epoch int16) {
	switch {
	case m.state == Ongoing:
		m.abortInside()
		return concurrentTransactions, -1
	case e == m.epoch:
		m.epoch, m.last = m.epoch+1, m.epoch
	case e == m.last:
	default:
		return producerFenced, -1
	}
	m.state = Empty
	return ok, m.epoch
}

func (m *txnModel) produce(part int32, e int16, value string) int16 {
	switch {
	case e != m.epoch:
		return invalidProducerEpoch
	case m.version == 1 && !(m.state == Ongoing && m.added[part]):
		return transactionAbortable
	}
	m.state, m.added[part] = Ongoing, true
	m.pending[part] = append(m.pending[part], value)
	m.seq[part]++
	return ok
}

// next is the sequence that the client has to use.
func (m *txnModel) next(part int32) int32 {
	if m.seqEpoch[part] != m.epoch {
		m.seq[part], m.seqEpoch[part] = 0, m.epoch
	}
	return m.seq[part]
}

func (m *txnModel) end(e int16, commit bool) (code, epoch int16) {
	done := CompleteAbort
	if commit {
		done = CompleteCommit
	}
	if m.version == 1 {
		switch {
		case e != m.epoch:
			return producerFenced, -1
		case m.state == Ongoing:
			m.finish(commit)
			return ok, -1
		case m.state == done:
			return ok, -1
		}
		return invalidTxnState, -1
	}
	current, repeat := e == m.epoch, e+1 == m.epoch
	switch {
	case m.state == Ongoing && current, m.state != Ongoing && current && !commit:
		m.finish(commit)
		m.last, m.epoch = m.epoch, m.epoch+1
		return ok, m.epoch
	case m.state != Ongoing && m.state != Empty && repeat && m.state == done:
		return ok, m.epoch
	case m.state != Ongoing && current, m.state.Complete() && repeat:
		return invalidTxnState, -1
	}
	return producerFenced, -1
}

// Step by step, with everything settled in between, the cluster answers as the tables say.
func TestAgainstSequentialModel(t *testing.T) {
	for _, profile := range []string{"k44", "k41", "k44-tv1", "k39"} {
		t.Run(profile, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				r := newRig(t, rapid.Uint64().Draw(rt, "seed"), profile, func(c *Config) { c.ScanInterval = 5 * time.Second })
				x := r.init("a")
				m := &txnModel{version: 1, last: -1}
				v, ev := int16(11), int16(4)
				if r.c.level == 2 {
					m.version, v, ev = 2, 12, 5
				}
				if profile == "k39" {
					m.version = 1
				}
				for i := range rapid.IntRange(1, 25).Draw(rt, "steps") {
					step := rapid.IntRange(0, 11).Draw(rt, "step")
					part := rapid.Int32Range(0, 2).Draw(rt, "partition")
					off := rapid.SampledFrom([]int16{0, 0, 0, -1, 1}).Draw(rt, "epoch")
					if step >= 9 {
						off = rapid.SampledFrom([]int16{0, -1, -1, 1}).Draw(rt, "epoch of end")
					}
					who := identity{"a", x.pid, m.epoch + off}
					if who.epoch < 0 {
						continue
					}
					name := fmt.Sprintf("%s step %d: %d epoch%+d in %s", profile, i, step, off, m.state)
					switch step {
					case 0:
						m.init()
						equal(t, name, r.init("a").epoch, m.epoch)
					case 1:
						code, epoch := m.initExpected(who.epoch)
						p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, x.pid, who.epoch))
						equal(t, name, p.ErrorCode, code)
						equal(t, name+" answer", p.ProducerEpoch, epoch)
					case 2:
						r.c.MoveCoordinator("a", int(r.coord("a")+1)%3)
						m.last = -1
						r.w.RunFor(300 * time.Millisecond)
					case 3:
						if m.state == Ongoing {
							m.abortInside()
						}
						r.w.RunFor(70 * time.Second)
					case 4:
						r.c.MoveLeader("out", part, (r.c.Leader("out", part)+1)%3)
						r.w.RunFor(50 * time.Millisecond)
					case 5, 6, 7, 8:
						if m.version == 1 && off == 0 && step < 8 && !(m.state == Ongoing && m.added[part]) {
							equal(t, name+" add", r.add(who, part), ok)
							if m.state != Ongoing {
								m.state = Ongoing
							}
							m.added[part] = true
						}
						value := fmt.Sprint("v", i)
						seq := int32(0)
						if off == 0 {
							seq = m.next(part)
						}
						if off > 0 {
							break // a producer of the future does not exist
						}
						code, _ := r.produce(v, who, part, batchOf(who, seq, true, value))
						equal(t, name, code, m.produce(part, who.epoch, value))
					default:
						commit := rapid.Bool().Draw(rt, "commit")
						code, epoch := m.end(who.epoch, commit)
						e := r.end(ev, who, commit)
						equal(t, name+fmt.Sprint(" commit=", commit), e.ErrorCode, code)
						if ev == 5 {
							equal(t, name+" answer", e.ProducerEpoch, epoch)
						}
					}
					r.ended("a")
					s, _ := r.c.Transaction("a")
					equal(t, name+" state", s.State, m.state)
					equal(t, name+" epoch", s.Epoch, m.epoch)
					if t.Failed() {
						rt.Fatal("see above")
					}
				}
				for p := range int32(3) {
					if len(m.pending[p]) == 0 {
						sameStrings(t, profile+" visible", r.committed(p), m.visible[p]...)
					}
				}
				r.c.Check()
				if t.Failed() {
					rt.Fatal("see above")
				}
			})
		})
	}
}
