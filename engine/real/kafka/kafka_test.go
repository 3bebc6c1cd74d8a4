package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/real/kafkatest"
	"github.com/onefold/onefold/engine/real/loop"
)

// actor is a loop with the adapter's ports, driven from a test.
type actor struct {
	t       *testing.T
	loop    *loop.Loop
	cluster *Cluster
	ports   [3]broker.Requests
}

func newActor(t *testing.T, c Config) *actor {
	t.Helper()
	cluster, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	a := &actor{t: t, loop: loop.New("test", loop.NewClock()), cluster: cluster}
	t.Cleanup(a.loop.Close)
	for class := range a.ports {
		a.ports[class] = cluster.Requests(a.loop, broker.Class(class))
	}
	return a
}

func on(t *testing.T) *actor { return newActor(t, Config{Bootstrap: kafkatest.Brokers(t)}) }

type answer struct {
	resp kmsg.Response
	err  error
}

func (a *actor) start(class broker.Class, node int32, req kmsg.Request) <-chan answer {
	c := make(chan answer, 1)
	a.loop.Post(func() {
		inside := true
		a.ports[class].Send(node, req, func(r kmsg.Response, err error) {
			if inside {
				a.t.Error("done was called inside the call")
			}
			c <- answer{r, err}
		})
		inside = false
	})
	return c
}

func (a *actor) wait(what string, c <-chan answer) answer {
	a.t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(20 * time.Second):
		a.t.Fatalf("%s: no answer", what)
		return answer{}
	}
}

func (a *actor) ask(node int32, req kmsg.Request) answer {
	a.t.Helper()
	return a.wait(name(req), a.start(broker.Control, node, req))
}

func metadata() *kmsg.MetadataRequest {
	m := kmsg.NewPtrMetadataRequest()
	m.Version = 9
	return m
}

// learn returns the nodes of the cluster, whose addresses the adapter knows then.
func (a *actor) learn() []int32 {
	a.t.Helper()
	r := a.ask(broker.Bootstrap, metadata())
	if r.err != nil {
		a.t.Fatal(r.err)
	}
	var nodes []int32
	for _, b := range r.resp.(*kmsg.MetadataResponse).Brokers {
		nodes = append(nodes, b.NodeID)
	}
	return nodes
}

func wantNotSent(t *testing.T, r answer, text string) {
	t.Helper()
	if !errors.Is(r.err, broker.ErrNotSent) || !strings.Contains(r.err.Error(), text) {
		t.Errorf("want not sent and %q, got %v", text, r.err)
	}
}

func wantUnknown(t *testing.T, r answer) {
	t.Helper()
	if r.err == nil || errors.Is(r.err, broker.ErrNotSent) {
		t.Errorf("want outcome unknown, got %v", r.err)
	}
}

// An adapter that calls "unknown" what was never sent makes restores slow; one that calls "not sent" what may have been applied
// loses or doubles records.
func TestNotSentIsKnownAndTheRestIsUnknown(t *testing.T) {
	c := kafkatest.Embedded(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()

	t.Run("nobody listens, then the next bootstrap address", func(t *testing.T) {
		a := newActor(t, Config{Bootstrap: append([]string{nobody}, c.ListenAddrs()...)})
		wantNotSent(t, a.ask(broker.Bootstrap, metadata()), "connection refused")
		a.learn()
	})
	t.Run("a node that nobody named", func(t *testing.T) {
		a := newActor(t, Config{Bootstrap: c.ListenAddrs()})
		a.learn()
		wantNotSent(t, a.ask(77, metadata()), "no address of broker 77")
	})
	t.Run("a version that is not known here", func(t *testing.T) {
		a := newActor(t, Config{Bootstrap: c.ListenAddrs()})
		m := metadata()
		m.Version = 99
		wantNotSent(t, a.ask(broker.Bootstrap, m), "v99")
	})
	t.Run("a version above the broker's", func(t *testing.T) {
		old := kafkatest.Embedded(t, kfake.MaxVersions(v39()))
		a := newActor(t, Config{Bootstrap: old.ListenAddrs()})
		node := a.learn()[0]
		e := kmsg.NewPtrEndTxnRequest()
		e.TransactionalID, e.Version = "x", 5
		wantNotSent(t, a.ask(node, e), "the broker can only v4")
		if r := a.ask(node, metadata()); r.err != nil {
			t.Errorf("the connection did not survive: %v", r.err)
		}
	})
	t.Run("acks=0", func(t *testing.T) {
		a := newActor(t, Config{Bootstrap: c.ListenAddrs()})
		wantNotSent(t, a.ask(broker.Bootstrap, &kmsg.ProduceRequest{Version: 9}), "acks=0")
	})
	t.Run("the connection breaks after the write", func(t *testing.T) {
		a := newActor(t, Config{Bootstrap: c.ListenAddrs()})
		node := a.learn()[0]
		c.ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
			return nil, errors.New("closed"), true
		})
		wantUnknown(t, a.ask(node, find("x")))
	})
	t.Run("no answer comes", func(t *testing.T) {
		a := newActor(t, Config{Bootstrap: c.ListenAddrs(), Overhead: 2 * time.Second}) // enough for those that do come
		node := a.learn()[0]
		c.ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
			return nil, nil, true
		})
		wantUnknown(t, a.ask(node, find("x")))
	})
	t.Run("the broker does not speak", func(t *testing.T) {
		mute, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer mute.Close()
		a := newActor(t, Config{Bootstrap: []string{mute.Addr().String()}, Overhead: 200 * time.Millisecond})
		wantNotSent(t, a.ask(broker.Bootstrap, metadata()), "timeout")
	})
}

func find(id string) *kmsg.FindCoordinatorRequest {
	f := kmsg.NewPtrFindCoordinatorRequest()
	f.Version = 4
	f.CoordinatorType = 1
	f.CoordinatorKeys = []string{id}
	return f
}

// A marker or a barrier's last batch would overtake what was sent before it.
func TestRequestsArriveInTheOrderOfSending(t *testing.T) {
	c := kafkatest.Embedded(t)
	const n = 300
	var arrived []string
	end := make(chan struct{})
	c.ControlKey(int16(kmsg.FindCoordinator), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		arrived = append(arrived, req.(*kmsg.FindCoordinatorRequest).CoordinatorKeys[0])
		if len(arrived) == n {
			close(end)
		}
		return nil, nil, false
	})
	a := newActor(t, Config{Bootstrap: c.ListenAddrs()})
	node := a.learn()[0]
	var answers []<-chan answer
	for i := range n {
		answers = append(answers, a.start(broker.Control, node, find(fmt.Sprintf("id-%d", i))))
	}
	for i, w := range answers {
		if r := a.wait("find", w); r.err != nil {
			t.Fatal(i, r.err)
		}
	}
	<-end
	for i, got := range arrived {
		if want := fmt.Sprintf("id-%d", i); got != want {
			t.Fatalf("number %d to arrive is %s", i, got)
		}
	}
}

// A commit would wait behind a long poll or a produce that the broker holds back.
func TestOtherClassesDoNotDelayControl(t *testing.T) {
	c := kafkatest.Embedded(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	a := newActor(t, Config{Bootstrap: c.ListenAddrs()})
	node := a.learn()[0]
	held, hold := make(chan struct{}), make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(held)
		c.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	p := kmsg.NewPtrProduceRequest()
	p.Version, p.Acks, p.TimeoutMillis = 9, -1, 1000
	produced := a.start(broker.Produce, node, p)
	<-held
	if r := a.ask(node, find("x")); r.err != nil { // behind the produce it would never be answered
		t.Fatal(r.err)
	}
	select {
	case r := <-produced:
		t.Fatalf("the produce was answered before it was let go: %v", r.err)
	default:
	}
	close(hold)
	a.wait("produce", produced)
}

// A long poll would be cut off at the overhead instead of its own time.
func TestALongPollMayTakeItsOwnTime(t *testing.T) {
	c := kafkatest.Embedded(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	a := newActor(t, Config{Bootstrap: c.ListenAddrs(), Overhead: 2 * time.Second})
	node := a.learn()[0]
	f := kmsg.NewPtrFetchRequest()
	f.Version, f.MaxWaitMillis, f.MinBytes, f.MaxBytes, f.SessionEpoch = 11, 3000, 1, 1<<20, -1
	part := kmsg.NewFetchRequestTopicPartition()
	part.PartitionMaxBytes = 1 << 20
	f.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{part}}}
	began := time.Now()
	r := a.wait("fetch", a.start(broker.Fetch, node, f))
	if e := time.Since(began); r.err != nil || e < 2500*time.Millisecond {
		t.Fatalf("answered after %v: %v", e, r.err)
	}
}

// Late completions would reach an actor that has ended.
func TestNothingArrivesAfterTheLoopIsClosed(t *testing.T) {
	c := kafkatest.Embedded(t)
	a := newActor(t, Config{Bootstrap: c.ListenAddrs()})
	node := a.learn()[0]
	hold, asked := make(chan struct{}), make(chan struct{})
	c.ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(asked)
		c.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	var late atomic.Bool
	a.loop.Post(func() {
		a.ports[broker.Control].Send(node, find("x"), func(kmsg.Response, error) { late.Store(true) })
	})
	<-asked
	a.loop.Close()
	close(hold)
	<-a.loop.Done()
	time.Sleep(50 * time.Millisecond)
	if late.Load() {
		t.Fatal("a completion ran on a closed loop")
	}
}

// recorder keeps the writes of a connection that does not exist.
type recorder struct {
	net.Conn
	writes [][]byte
}

func (r *recorder) Write(b []byte) (int, error) {
	r.writes = append(r.writes, append([]byte(nil), b...))
	return len(b), nil
}

func frame(key byte, rest ...byte) []byte {
	return append([]byte{0, 0, 0, byte(len(rest) + 2), 0, key}, rest...)
}

// A dying repairer would leave an added partition to the timeout, which aborts committed records.
func TestAPairIsOneWrite(t *testing.T) {
	rec := &recorder{}
	k := &keeper{rec, &pair{}}
	for _, f := range [][]byte{frame(18), frame(24, 1), frame(26, 2)} {
		if n, err := k.Write(f); n != len(f) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := fmt.Sprint(rec.writes); got != fmt.Sprint([][]byte{frame(18), append(frame(24, 1), frame(26, 2)...)}) {
		t.Fatal(got)
	}
	if _, err := k.Write(frame(26, 2)); err == nil {
		t.Error("a third frame was let through")
	}
	if _, err := (&keeper{&recorder{}, k.pair}).Write(frame(26, 2)); err == nil {
		t.Error("the second frame was repeated alone on another connection")
	}
}

// The pair against a broker: a transaction gets a partition and ends, in one write.
func TestSendBothIsAnsweredTwice(t *testing.T) {
	a := on(t)
	nodes := a.learn()
	topic := fmt.Sprintf("pair-%d", time.Now().UnixNano())
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 5, 10000
	ct := kmsg.NewCreateTopicsRequestTopic()
	ct.Topic, ct.NumPartitions, ct.ReplicationFactor = topic, 1, 1
	create.Topics = append(create.Topics, ct)
	controller := a.ask(broker.Bootstrap, metadata()).resp.(*kmsg.MetadataResponse).ControllerID
	if r := a.ask(controller, create); r.err != nil || r.resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode != 0 {
		t.Fatal(r.err, r.resp)
	}
	var node int32
	var pid int64
	var epoch int16
	id := topic + "-id"
	eventually(t, "a producer id", func() error {
		r := a.ask(nodes[0], find(id))
		if r.err != nil {
			return r.err
		}
		co := r.resp.(*kmsg.FindCoordinatorResponse).Coordinators[0]
		if co.ErrorCode != 0 {
			return fmt.Errorf("find coordinator: code %d", co.ErrorCode)
		}
		node = co.NodeID
		init := kmsg.NewPtrInitProducerIDRequest()
		init.Version, init.TransactionalID, init.TransactionTimeoutMillis = 4, &id, 60000
		if r = a.ask(node, init); r.err != nil {
			return r.err
		}
		resp := r.resp.(*kmsg.InitProducerIDResponse)
		pid, epoch = resp.ProducerID, resp.ProducerEpoch
		return code(resp.ErrorCode)
	})
	eventually(t, "both", func() error {
		add := kmsg.NewPtrAddPartitionsToTxnRequest()
		add.Version, add.TransactionalID, add.ProducerID, add.ProducerEpoch = 3, id, pid, epoch
		at := kmsg.NewAddPartitionsToTxnRequestTopic()
		at.Topic, at.Partitions = topic, []int32{0}
		add.Topics = append(add.Topics, at)
		end := kmsg.NewPtrEndTxnRequest()
		end.Version, end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = 4, id, pid, epoch, true
		c := make(chan error, 1)
		a.loop.Post(func() {
			a.ports[broker.Control].SendBoth(node, add, end, func(one, two kmsg.Response, err error) {
				if err == nil {
					err = errors.Join(code(one.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode),
						code(two.(*kmsg.EndTxnResponse).ErrorCode))
				}
				c <- err
			})
		})
		return <-c
	})
}

// If the second request cannot go, the first must not either, and both were not sent.
func TestAPairWhoseSecondCannotGoIsNotSent(t *testing.T) {
	c := kafkatest.Embedded(t, kfake.MaxVersions(v39()))
	var adds atomic.Int32
	c.ControlKey(int16(kmsg.AddPartitionsToTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		adds.Add(1)
		return nil, nil, false
	})
	a := newActor(t, Config{Bootstrap: c.ListenAddrs()})
	node := a.learn()[0]
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.Version = 3
	end := kmsg.NewPtrEndTxnRequest()
	end.Version = 5
	w := make(chan answer, 1)
	a.loop.Post(func() {
		a.ports[broker.Control].SendBoth(node, add, end, func(_, _ kmsg.Response, err error) { w <- answer{nil, err} })
	})
	wantNotSent(t, a.wait("both", w), "the broker can only v4")
	time.Sleep(50 * time.Millisecond)
	if adds.Load() != 0 {
		t.Fatal("the first was sent alone")
	}
}

// A broker that comes back under another address would never be found again.
func TestAddressesFollowMetadata(t *testing.T) {
	b := newBook([]string{"one:1", "two:2"})
	b.learn(&kmsg.MetadataResponse{Brokers: []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "h", Port: 9}, {NodeID: 2, Host: "h", Port: 8}}})
	first, _ := b.since(0)
	b.learn(&kmsg.FindCoordinatorResponse{Coordinators: []kmsg.FindCoordinatorResponseCoordinator{{NodeID: 3, Host: "h", Port: 7}}})
	b.learn(&kmsg.FindCoordinatorResponse{NodeID: -1, Host: "", Port: -1})
	for node, want := range map[int32]string{1: "h:9", 2: "h:8", 3: "h:7", -1: "one:1"} {
		if got, _ := b.address(node); got != want {
			t.Errorf("node %d is at %q, want %q", node, got, want)
		}
	}
	if _, used := b.since(first); len(used) != 5 {
		t.Errorf("in use: %v", used)
	}
	b.learn(&kmsg.MetadataResponse{Brokers: []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "h", Port: 6}}})
	if _, ok := b.address(2); ok {
		t.Error("a broker that left is still known")
	}
	b.failed("two:2")
	if got, _ := b.address(broker.Bootstrap); got != "one:1" {
		t.Error("a failure elsewhere moved the bootstrap")
	}
	b.failed("one:1")
	if got, _ := b.address(broker.Bootstrap); got != "two:2" {
		t.Error("the bootstrap did not move on")
	}
}

func code(c int16) error {
	if c == 0 {
		return nil
	}
	return fmt.Errorf("code %d", c)
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
