package stage

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// Where says which broker a request is for. It is looked up anew for each request.
type Where struct {
	node      int32
	leader    id.TopicPartition
	txn       string
	group     string
	describes string
}

// Node is a broker by its id; broker.Bootstrap is any.
func Node(n int32) Where { return Where{node: n, describes: fmt.Sprint("node ", n)} }

// Leader is the leader of a partition.
func Leader(tp id.TopicPartition) Where {
	return Where{leader: tp, describes: fmt.Sprint("the leader of ", tp)}
}

// TxnCoordinator is the coordinator of a transactional id.
func TxnCoordinator(transactionalID string) Where {
	return Where{txn: transactionalID, describes: "the coordinator of " + transactionalID}
}

// GroupCoordinator is the coordinator of a group.
func GroupCoordinator(group string) Where {
	return Where{group: group, describes: "the coordinator of group " + group}
}

func (w Where) String() string { return w.describes }

// Find looks a broker up.
func (t *T) Find(w Where) int32 {
	node := w.node
	switch {
	case w.leader.Topic != "":
		t.Wait(w.String(), func() bool {
			m, ok := t.View(broker.Bootstrap, w.leader.Topic)
			if !ok || len(m.Topics) != 1 || int(w.leader.Partition) >= len(m.Topics[0].Partitions) {
				return false
			}
			node = m.Topics[0].Partitions[w.leader.Partition].Leader
			return node >= 0
		})
	case w.txn != "":
		node = t.findCoordinator(w, w.txn, 1)
	case w.group != "":
		node = t.findCoordinator(w, w.group, 0)
	}
	return node
}

func (t *T) findCoordinator(w Where, key string, kind int8) (node int32) {
	t.Wait(w.String(), func() bool {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorType, req.CoordinatorKeys = 4, kind, []string{key}
		r, err := t.Raw(broker.Bootstrap, req)
		if err != nil {
			return false
		}
		a := r.(*kmsg.FindCoordinatorResponse).Coordinators
		if len(a) != 1 || a[0].ErrorCode != 0 {
			return false
		}
		node = a[0].NodeID
		return true
	})
	return node
}

// Raw sends a request to a broker, once, at exactly the version that is set in it. A request that was answered may be sent
// again: a byte-identical repeat. An error leaves the outcome unknown, unless it is broker.ErrNotSent.
func (t *T) Raw(node int32, req kmsg.Request) (kmsg.Response, error) {
	return t.Start(node, req).Await()
}

// RawAt is Raw to a broker that is looked up.
func (t *T) RawAt(w Where, req kmsg.Request) (kmsg.Response, error) { return t.Raw(t.Find(w), req) }

// Answer is RawAt repeated while its code, as read tells it, asks for that, and as long as no answer comes. So it is for
// requests that may be repeated.
func (t *T) Answer(w Where, req kmsg.Request, read func(kmsg.Response) kafka.Code) (r kmsg.Response, code kafka.Code) {
	var err error
	ok := t.Within(Patience, func() bool {
		if r, err = t.RawAt(w, req); err != nil {
			return false
		}
		code = read(r)
		return !Passing(code)
	})
	if !ok && err == nil {
		err = code
	}
	t.Check(ok, "%s to %s does not settle within %s: %v", kmsg.NameForKey(req.Key()), w, t.patience(), err)
	return r, code
}

// Sent is a request under way.
type Sent struct {
	t    *T
	req  kmsg.Request
	resp kmsg.Response
	err  error
	done bool
	woke func()
}

// rawTimeout is how long an answer to Raw is waited for.
const rawTimeout = 15 * time.Second

// Start sends a request and does not wait. Requests of one client to one broker arrive in this order, produce requests and
// fetches each in an order of their own.
func (t *T) Start(node int32, req kmsg.Request) *Sent {
	s := &Sent{t: t, req: req}
	timer := t.Loop.After(rawTimeout, func() { s.end(nil, kafka.ErrTimeout) })
	t.port(req).Send(node, req, func(r kmsg.Response, err error) {
		timer.Stop()
		s.end(r, err)
	})
	return s
}

// StartAt is Start to a broker that is looked up.
func (t *T) StartAt(w Where, req kmsg.Request) *Sent { return t.Start(t.Find(w), req) }

func (t *T) port(req kmsg.Request) broker.Requests {
	switch req.(type) {
	case *kmsg.ProduceRequest:
		return t.ports[broker.Produce]
	case *kmsg.FetchRequest:
		return t.ports[broker.Fetch]
	}
	return t.ports[broker.Control]
}

func (s *Sent) end(r kmsg.Response, err error) {
	if s.done {
		return
	}
	s.resp, s.err, s.done = r, err, true
	if s.err != nil {
		s.err = fmt.Errorf("%s: %w", kmsg.NameForKey(s.req.Key()), s.err)
	}
	if s.woke != nil {
		s.woke()
	}
}

// Answered says whether the answer, or an error, has come.
func (s *Sent) Answered() bool { return s.done }

// Await waits for the answer.
func (s *Sent) Await() (kmsg.Response, error) {
	if !s.done {
		s.t.Do(func(done func()) { s.woke = done })
	}
	return s.resp, s.err
}
