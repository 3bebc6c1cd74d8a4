package simbroker

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim"
)

// chaosWriter writes transaction after transaction with the retries of a correct client, and notes what it was told.
type chaosWriter struct {
	r       *rig
	loop    *sim.Loop
	port    broker.Requests
	id      string
	pid     int64
	epoch   int16
	n       int
	old     bool // the protocol of version 4
	seq     [3]int32
	verdict map[string]bool // value -> committed, once the writer knows
	unsure  map[string]bool // fenced while ending: decided or lost, it cannot know which
	stop    bool
	idle    bool
}

const kindChaos env.Kind = 0x7700

func (w *chaosWriter) draw(a, b uint64) uint64 {
	return w.r.w.Draw(kindChaos, sim.NameKey(w.id), uint64(w.n)<<8|a, b)
}

func (w *chaosWriter) value() string { return fmt.Sprintf("%s-%d", w.id, w.n) }

// again repeats a step after a pause.
func (w *chaosWriter) again(step func()) { w.loop.After(15*time.Millisecond, step) }

func (w *chaosWriter) init() {
	node := int32(w.r.c.Coordinator(w.id))
	w.port.Send(node, w.r.initReq(w.id, 4, -1, -1), func(resp kmsg.Response, err error) {
		if err != nil {
			w.again(w.init)
			return
		}
		p := resp.(*kmsg.InitProducerIDResponse)
		if p.ErrorCode != ok {
			w.again(w.init)
			return
		}
		w.pid, w.epoch, w.seq = p.ProducerID, p.ProducerEpoch, [3]int32{}
		w.begin()
	})
}

func (w *chaosWriter) who() identity { return identity{w.id, w.pid, w.epoch} }

func (w *chaosWriter) begin() {
	if w.stop {
		w.idle = true
		return
	}
	w.n++
	if w.old {
		w.add()
	} else {
		w.produce(0)
	}
}

func (w *chaosWriter) add() {
	w.port.Send(int32(w.r.c.Coordinator(w.id)), addReq(w.who(), 0, 1, 2), func(resp kmsg.Response, err error) {
		code := networkException
		if err == nil {
			code = resp.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode
		}
		switch code {
		case ok:
			w.produce(0)
		case producerFenced, invalidProducerID, invalidTxnState:
			w.lost()
		default:
			w.again(w.add)
		}
	})
}

func (w *chaosWriter) produce(part int32) {
	if part == 3 {
		w.end(w.draw(1, 0)%3 > 0)
		return
	}
	v := int16(12)
	if w.old {
		v = 11
	}
	data := batchOf(w.who(), w.seq[part], true, w.value())
	w.port.Send(int32(w.r.c.Leader("out", part)), produceReq(v, w.who(), part, data), func(resp kmsg.Response, err error) {
		code := networkException
		if err == nil {
			code = resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode
		}
		switch code {
		case ok:
			w.seq[part]++
			w.produce(part + 1)
		case invalidProducerEpoch, invalidTxnState, transactionAbortable, outOfOrderSequence, invalidProducerID:
			w.lost()
		default:
			w.again(func() { w.produce(part) })
		}
	})
}

// lost gives the transaction up: initialising aborts it.
func (w *chaosWriter) lost() {
	w.verdict[w.value()] = false
	w.init()
}

func (w *chaosWriter) end(commit bool) {
	v := int16(5)
	if w.old {
		v = 4
	}
	w.port.Send(int32(w.r.c.Coordinator(w.id)), endReq(v, w.who(), commit), func(resp kmsg.Response, err error) {
		code := networkException
		if err == nil {
			code = resp.(*kmsg.EndTxnResponse).ErrorCode
		}
		switch code {
		case ok:
			w.verdict[w.value()] = commit
			if e := resp.(*kmsg.EndTxnResponse); !w.old {
				w.pid, w.epoch, w.seq = e.ProducerID, e.ProducerEpoch, [3]int32{}
				w.begin()
				return
			}
			w.init() // or a repeated request of this transaction could end the next one
		case invalidTxnState:
			w.lost()
		case producerFenced, invalidProducerID:
			w.unsure[w.value()] = commit
			w.lost()
		default:
			w.again(func() { w.end(commit) })
		}
	})
}

// Under everything that a plan can do to it, a cluster that drops no markers keeps its word: what it said it committed is
// there once in every partition, and nothing else is.
func TestChaosKeepsEveryVerdict(t *testing.T) {
	for _, c := range []struct {
		profile string
		old     bool
	}{{"k41", false}, {"k41", true}, {"k39", true}, {"k41-tv0", true}} {
		committed, aborted := 0, 0
		for seed := range uint64(25) {
			for _, copies := range []int{1, 3} {
				a, b := chaos(t, seed, c.profile, c.old, copies)
				committed, aborted = committed+a, aborted+b
			}
		}
		if committed < 200 || aborted < 100 {
			t.Errorf("%s old=%v: only %d committed and %d aborted", c.profile, c.old, committed, aborted)
		}
	}
}

func chaos(t *testing.T, seed uint64, profile string, old bool, copies int) (committed, aborted int) {
	rotating := seed%5 == 4 // of which the sequential model knows nothing
	r := newRig(t, seed, profile, func(c *Config) {
		if rotating {
			c.Profile.MaxEpoch = 40
		}
		c.Encode = seed%2 == 0
		c.Record = true
		c.Replication.Factor, c.MinISR, c.ReplicaLag = copies, min(copies, 2), 2*time.Second
	})
	watch := newWatcher(r)
	var writers []*chaosWriter
	for i := range 3 {
		w := &chaosWriter{r: r, id: fmt.Sprint("writer", i), old: old, verdict: map[string]bool{}, unsure: map[string]bool{}}
		w.loop = r.node.NewLoop(w.id)
		w.port = r.c.Requests(r.node, w.loop, broker.Control)
		w.loop.Post(w.init)
		writers = append(writers, w)
	}
	for i := range uint64(60) {
		v := r.w.Draw(kindChaos, i, 1, 0)
		r.w.RunFor(sim.Between(v, 5*time.Millisecond, 200*time.Millisecond))
		r.alive()
		watch.look()
		r.strike(r.w.Draw(kindChaos, i, 2, 0), i)
	}
	for i := range 3 {
		r.c.Node(i).Resume()
		r.c.Node(i).Start()
		r.c.ResumeReplicas(i)
	}
	for _, w := range writers {
		w.stop = true
	}
	quiet := r.w.RunUntil(func() bool { return writers[0].idle && writers[1].idle && writers[2].idle }, r.w.Now().Add(60*time.Second))
	r.alive()
	if !quiet {
		t.Fatalf("%s seed %d: writers do not come to rest", profile, seed)
	}
	r.settle()
	watch.look()
	for part := range int32(3) {
		got := map[string]int{}
		for _, v := range r.committed(part) {
			got[v]++
		}
		for _, w := range writers {
			for n := 1; n <= w.n; n++ {
				v := fmt.Sprintf("%s-%d", w.id, n)
				want := 0
				if w.unsure[v] {
					w.verdict[v] = got[v] > 0 // by the first partition; the others must agree
					w.unsure[v] = false
				}
				if w.verdict[v] {
					want = 1
				}
				if got[v] != want {
					t.Errorf("%s old=%v seed %d: %s is %d times in partition %d, want %d", profile, old, seed, v, got[v], part, want)
				}
				if part == 0 {
					committed, aborted = committed+want, aborted+1-want
				}
			}
		}
	}
	if !rotating {
		r.judge()
	}
	return committed, aborted
}

// judge asks the checker's sequential model whether one coordinator could have said all that callers were told.
func (r *rig) judge() {
	h := checker.NewHistory()
	for _, o := range r.c.Operations() {
		h.TxnLog = append(h.TxnLog, checker.TransactionOperation{
			Client: o.Client, Call: int64(o.Call), Return: int64(o.Return), ID: o.ID, Kind: checker.TransactionKind(o.Kind),
			ProducerID: o.ProducerID, ProducerEpoch: o.Epoch, Result: checker.TransactionResult(o.Result),
		})
	}
	if len(h.TxnLog) < 3 {
		r.t.Errorf("only %d operations recorded", len(h.TxnLog))
	}
	for _, f := range checker.Check(h, nil, checker.Options{}).Findings {
		if f.Place == "transactions" {
			r.t.Errorf("seed %d: %v", r.w.Seed(), f)
		}
	}
}

// strike does one thing to the cluster.
func (r *rig) strike(v, i uint64) {
	at := int(v >> 8 % 3)
	w := fmt.Sprint("writer", v>>16%3)
	if r.c.cfg.Replication.Factor > 1 && v>>40%4 == 0 {
		r.c.StallReplicas(at)
		r.w.At(r.w.Now().Add(sim.Between(v*0x9e3779b97f4a7c15, time.Millisecond, 6*time.Second)), func() { r.c.ResumeReplicas(at) })
		return
	}
	switch v % 8 {
	case 0:
		r.c.MoveCoordinator(w, at)
	case 1:
		r.c.MoveLeader("out", int32(v>>20%3), at)
	case 2:
		r.c.Node(at).Restart()
	case 3:
		r.c.Node(at).Crash()
		r.w.At(r.w.Now().Add(sim.Between(v*0x9e3779b97f4a7c15, time.Millisecond, 6*time.Second)), func() { r.c.Node(at).Start() })
	case 4:
		r.c.Node(at).Pause(r.w.Now().Add(sim.Between(v*0x9e3779b97f4a7c15, time.Millisecond, 6*time.Second)))
	default:
		effects := []sim.Effect{sim.LoseRequest, sim.LoseReply, sim.LateReply, sim.Repeat}
		keys := []int16{0, 22, 26, 24}
		r.w.FaultRequests(sim.RequestFault{
			Key: keys[v>>24%4], Effect: effects[v>>28%4], Delay: sim.Between(v*0x9e3779b97f4a7c15, time.Millisecond, 800*time.Millisecond),
			Count: int(1 + v>>32%2),
		})
	}
}
