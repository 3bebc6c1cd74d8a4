package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/sim"
)

// rig is a small world: a cluster and one client machine that asks in plain sequence.
type rig struct {
	t    testing.TB
	w    *sim.World
	c    *Cluster
	node *sim.Node
	loop *sim.Loop
	port broker.Requests
}

func newRig(t testing.TB, seed uint64, profile string, change ...func(*Config)) *rig {
	p, known := ProfileOf(profile)
	if !known {
		t.Fatalf("no profile %s", profile)
	}
	// Records of tests are from 1970: nothing is to be deleted of them, or forgotten, that a test does not ask for.
	never := Housekeeping{Retention: -1, Cleaner: -1, ProducerScan: -1}
	cfg := Config{Profile: p, ScanInterval: 100 * time.Millisecond, Encode: true, Housekeeping: never}
	for _, fn := range change {
		fn(&cfg)
	}
	w := sim.New(sim.Options{Seed: seed, Checks: true})
	c := New(w, cfg)
	w.BrokerPort = c.Requests
	r := &rig{t: t, w: w, c: c}
	r.node = w.NewNode("client", nil)
	r.node.Start()
	r.loop = r.node.NewLoop("test")
	r.port = c.Requests(r.node, r.loop, broker.Control)
	w.RunFor(500 * time.Millisecond)
	c.CreateTopic(TopicSpec{Name: "out", Partitions: 3})
	r.alive()
	return r
}

func (r *rig) alive() {
	r.t.Helper()
	if f := r.w.Failure(); f != nil {
		r.t.Fatalf("world failed: %v\n%s", f, f.Stack)
	}
}

// start sends a request and returns where its answer will be.
func (r *rig) start(node int32, req kmsg.Request) *reply {
	a := &reply{}
	r.loop.Post(func() {
		r.port.Send(node, req, func(resp kmsg.Response, err error) { a.resp, a.err, a.done = resp, err, true })
	})
	return a
}

type reply struct {
	resp kmsg.Response
	err  error
	done bool
}

func (r *rig) wait(a *reply) {
	r.t.Helper()
	r.w.RunUntil(func() bool { return a.done }, r.w.Now().Add(60*time.Second))
	r.alive()
	if !a.done {
		r.t.Fatal("no answer within a minute")
	}
}

func ask1[R kmsg.Response](r *rig, node int32, req kmsg.Request) R {
	r.t.Helper()
	a := r.start(node, req)
	r.wait(a)
	if a.err != nil {
		r.t.Fatalf("request %d: %v", req.Key(), a.err)
	}
	return a.resp.(R)
}

func (r *rig) coord(id string) int32 { return int32(r.c.Coordinator(id)) }

func (r *rig) initReq(id string, v int16, pid int64, epoch int16) *kmsg.InitProducerIDRequest {
	q := kmsg.NewPtrInitProducerIDRequest()
	q.Version, q.TransactionalID, q.TransactionTimeoutMillis = v, &id, 60000
	q.ProducerID, q.ProducerEpoch = pid, epoch
	return q
}

type identity struct {
	id    string
	pid   int64
	epoch int16
}

// init initialises an id, repeating "concurrent".
func (r *rig) init(id string) identity {
	r.t.Helper()
	for range 100 {
		p := ask1[*kmsg.InitProducerIDResponse](r, r.coord(id), r.initReq(id, 4, -1, -1))
		switch p.ErrorCode {
		case ok:
			return identity{id, p.ProducerID, p.ProducerEpoch}
		case concurrentTransactions, coordinatorLoading, notCoordinator:
			r.w.RunFor(20 * time.Millisecond)
		default:
			r.t.Fatalf("init %s: code %d", id, p.ErrorCode)
		}
	}
	r.t.Fatalf("init %s: always concurrent", id)
	return identity{}
}

func batchOf(x identity, seq int32, txn bool, values ...string) []byte {
	h := header{producerID: x.pid, epoch: x.epoch, sequence: seq}
	if txn {
		h.attributes = attrTxn
	}
	if x.pid < 0 {
		h.sequence = -1
	}
	var records []Record
	for _, v := range values {
		records = append(records, Record{Value: []byte(v), Time: 1000})
	}
	return appendPlainBatch(nil, h, records)
}

func produceReq(v int16, x identity, part int32, data []byte) *kmsg.ProduceRequest {
	q := kmsg.NewPtrProduceRequest()
	q.Version, q.Acks, q.TimeoutMillis = v, -1, 1000
	if x.id != "" {
		q.TransactionID = &x.id
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic = "out"
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = part, data
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

func (r *rig) produce(v int16, x identity, part int32, data []byte) (code int16, base int64) {
	r.t.Helper()
	p := ask1[*kmsg.ProduceResponse](r, int32(r.c.Leader("out", part)), produceReq(v, x, part, data))
	q := p.Topics[0].Partitions[0]
	return q.ErrorCode, q.BaseOffset
}

func endReq(v int16, x identity, commit bool) *kmsg.EndTxnRequest {
	q := kmsg.NewPtrEndTxnRequest()
	q.Version, q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Commit = v, x.id, x.pid, x.epoch, commit
	return q
}

func (r *rig) end(v int16, x identity, commit bool) *kmsg.EndTxnResponse {
	r.t.Helper()
	return ask1[*kmsg.EndTxnResponse](r, r.coord(x.id), endReq(v, x, commit))
}

func addReq(x identity, parts ...int32) *kmsg.AddPartitionsToTxnRequest {
	q := kmsg.NewPtrAddPartitionsToTxnRequest()
	q.Version, q.TransactionalID, q.ProducerID, q.ProducerEpoch = 3, x.id, x.pid, x.epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = "out", parts
	q.Topics = append(q.Topics, t)
	return q
}

func (r *rig) add(x identity, parts ...int32) int16 {
	r.t.Helper()
	a := ask1[*kmsg.AddPartitionsToTxnResponse](r, r.coord(x.id), addReq(x, parts...))
	return a.Topics[0].Partitions[0].ErrorCode
}

// settle runs until everything is quiet.
func (r *rig) settle() {
	r.t.Helper()
	var why string
	quiet := r.w.RunUntil(func() (q bool) { q, why = r.c.Settled(); return q }, r.w.Now().Add(30*time.Second))
	r.alive()
	if !quiet {
		r.t.Fatalf("does not settle: %s", why)
	}
	r.c.Check()
}

// ended waits until the coordinator has nothing pending for an id.
func (r *rig) ended(id string) {
	r.t.Helper()
	r.w.RunUntil(func() bool { s, _ := r.c.Transaction(id); return !s.Pending }, r.w.Now().Add(30*time.Second))
	r.alive()
}

func (r *rig) committed(part int32) []string {
	var out []string
	for _, l := range r.c.ReadCommitted("out", part) {
		out = append(out, string(l.Record.Value))
	}
	return out
}

func (r *rig) state(id string) TxnState {
	s, _ := r.c.Transaction(id)
	return s.State
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func sameStrings(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: got %q, want %q", what, got, want)
			return
		}
	}
}
