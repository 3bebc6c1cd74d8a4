package brokerfuzz

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/script"
)

// ErrLate says that the world was too slow for the sequence: a transaction with a short timeout may have ended by it before
// the sequence meant it to. The run says nothing; it may be tried again.
var ErrLate = errors.New("too slow: a short timeout may have passed in the middle of the sequence")

// Options say how a sequence is run.
type Options struct {
	// Name is part of every name that the run makes. No other run on the cluster has it.
	Name string
	// Patience is how long a request is repeated that asks for it; default 5 s. A request that still does is answered so. It is
	// repeated a hundred times at least: time alone may have passed while a cluster could do nothing.
	Patience time.Duration
	// Mover moves leaders and coordinators; nil where there is only one broker.
	Mover Mover
}

// Mover moves leaders and coordinators. done may be called within the call.
type Mover interface {
	MoveLeader(topic string, partition int32, done func(error))
	MoveCoordinator(transactionalID string, done func(error))
}

// Run performs a sequence on a loop of a process and hands over its transcript. An error means that the run says nothing.
func Run(p *proc.Process, loop env.Loop, s Sequence, o Options, done func(Transcript, error)) {
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	r := &run{
		seq: s, o: o, process: p, loop: loop, port: p.Broker(loop, broker.Control),
		topic: "fuzz-" + o.Name, group: "group-" + o.Name,
		opened: make([]env.Instant, len(s.Producers)),
	}
	var failed error
	body := func(ask script.Ask[func(func()), struct{}]) {
		defer func() {
			switch f := recover().(type) {
			case nil:
			case failure:
				failed = f.error
			default:
				panic(f)
			}
		}()
		r.ask = ask
		r.all()
	}
	perform := func(e func(func()), done func(struct{})) { e(func() { done(struct{}{}) }) }
	script.Run(loop, body, perform, func() { done(r.transcript, failed) })
}

// failure leaves the script.
type failure struct{ error }

// run is a sequence under way.
type run struct {
	seq     Sequence
	o       Options
	process *proc.Process
	loop    env.Loop
	port    broker.Requests
	ask     script.Ask[func(func()), struct{}]

	topic, group string
	actors       []*actor
	words, ids   []string // transactional ids of the sequence, in order, and what they are called on the cluster
	cluster      layout
	pids         []int64 // in order of appearance: p0, p1, ...
	terms        []pidTerm
	sent         []*request    // that repeat may name
	seen         []int64       // the largest high watermark of each partition; below it all batches are read
	view         view          // the settled state after the operation before
	opened       []env.Instant // since when an id has a transaction with a short timeout, by index of ids; 0: it has none
	accepted     string        // what the state does not settle for, seen before
	stuck        bool          // an id can do nothing any more
	touched      bool          // the group has been named
	operation    int
	transcript   Transcript
}

func (r *run) fail(format string, args ...any) {
	panic(failure{fmt.Errorf("operation %d: "+format, append([]any{r.operation}, args...)...)})
}

func (r *run) do(call func(done func())) { r.ask(call) }

func (r *run) sleep(d time.Duration) {
	r.do(func(done func()) { r.loop.After(d, done) })
}

func (r *run) all() {
	r.transcript.Sequence = r.seq
	r.prepare()
	began := r.process.Now()
	r.observe(began)
	for i, o := range r.seq.Ops {
		r.operation = i + 1
		began = r.process.Now()
		lines := r.perform(&o)
		if o.changes() {
			lines = append(lines, r.settle(began, o.Kind == Wait)...)
		}
		r.transcript.Answers = append(r.transcript.Answers, lines)
		if r.stuck {
			break
		}
	}
	r.transcript.Rest = r.rest()
	r.clean()
}

// once sends one request and waits for its answer.
func (r *run) once(node int32, req kmsg.Request) (kmsg.Response, error) {
	var resp kmsg.Response
	var err error
	r.do(func(done func()) {
		r.port.Send(node, req, func(got kmsg.Response, e error) { resp, err = got, e; done() })
	})
	return resp, err
}

// request is one request of an operation, which can be built again with the same bytes.
type request struct {
	to    target
	build func() kmsg.Request
	code  func(kmsg.Response) int16
	print func(kmsg.Response) string
	took  func(kmsg.Response) // what the producer learns from an answer; nil: nothing
}

// send sends a request until its code is one that repetition does not change.
func (r *run) send(q *request) (kmsg.Response, string) {
	until := r.process.Now().Add(r.o.Patience)
	for tries := 1; ; tries++ {
		req := q.build()
		if !r.cluster.offers(req) {
			return nil, fmt.Sprintf("version %d is not offered", req.GetVersion())
		}
		resp, err := r.once(r.node(q.to), req)
		if err != nil {
			r.fail("%s: %w", kmsg.NameForKey(req.Key()), err)
		}
		code := q.code(resp)
		switch {
		case !again(code):
			return resp, ""
		case tries >= fewest && r.process.Now() >= until:
			r.stuck = true
			return resp, fmt.Sprintf("stays %d", code)
		}
		r.forget(q.to)
		r.sleep(15 * time.Millisecond)
	}
}

// fewest is how often something is tried before it counts as staying as it is.
const fewest = 100

// again tells codes that say: the same once more.
func again(code int16) bool {
	switch code {
	case 5, 6, 7, 14, 15, 16, 19, 20, 51:
		return true
	}
	return false
}

// now answers one request of an operation as a line, remembered for repeats.
func (r *run) now(q *request) []string {
	r.sent = append(r.sent, q)
	return r.again(q)
}

func (r *run) again(q *request) []string {
	resp, trouble := r.send(q)
	switch {
	case resp == nil, trouble != "":
		return []string{trouble}
	}
	if q.took != nil {
		q.took(resp)
	}
	return []string{q.print(resp)}
}
