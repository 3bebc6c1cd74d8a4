package kafka_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// storm is one client that writes transactions and reads them back while everything around it fails.
type storm struct {
	world   *sim.World
	cluster *simbroker.Cluster
	process *proc.Process
	loop    env.Loop
	client  *kafka.Client
	sink    []string // committed, by the writer's account
	failed  int      // transactions whose producer failed
	hits    int      // requests struck
	got     []string // read by a fetcher
	fenced  bool     // an initialisation of ours arrived once more, later: it may have fenced the transaction after it
	unsure  []string // transactions whose end such a fence answered: it came after the commit, or before
	err     error
}

const stormPartitions = 3

func newStorm(t *testing.T, seed uint64, profile string) *storm {
	p, ok := simbroker.ProfileOf(profile)
	if !ok {
		t.Fatal(profile)
	}
	s := &storm{world: sim.New(sim.Options{Seed: seed, Checks: true})}
	s.cluster = simbroker.New(s.world, simbroker.Config{Profile: p, Encode: true})
	s.world.BrokerPort = s.cluster.Requests
	s.cluster.CreateTopic(simbroker.TopicSpec{Name: "t", Partitions: stormPartitions})
	s.world.NewNode("client", func(p *proc.Process) { s.process = p }).Start()
	s.world.RunFor(time.Second)
	s.loop = s.process.NewLoop("client")
	s.client = kafka.New(kafka.Config{Process: s.process, Loop: s.loop, RequestTimeout: 5 * time.Second})
	t.Cleanup(s.world.Close)
	return s
}

// fault strikes something, by draw.
func (s *storm) fault(i uint64) {
	d := func(a, n uint64) uint64 { return s.world.Draw(env.KindScenario, i, a, 0) % n }
	node := fmt.Sprintf("broker%d", d(0, 3))
	request := []string{"Produce", "EndTxn", "AddPartitionsToTxn", "Fetch", "FindCoordinator", "Metadata", "InitProducerId"}[d(1, 7)]
	count := int(1 + d(2, 2))
	hit := func() { s.hits++ }
	switch d(3, 8) {
	case 0:
		s.world.Target().Do(faults.Action{Op: faults.LoseRequest, Node: "client", Request: request, Count: count, Hit: hit})
	case 1:
		s.world.Target().Do(faults.Action{Op: faults.LoseReply, Node: "client", Request: request, Count: count, Hit: hit})
	case 2:
		s.world.Target().Do(faults.Action{Op: faults.LateReply, Node: "client", Request: request, Count: count, Hit: hit, Delay: time.Duration(d(4, 8000)) * time.Millisecond})
	case 3:
		again := hit
		hit = func() { again(); s.fenced = s.fenced || request == "InitProducerId" }
		s.world.Target().Do(faults.Action{Op: faults.RepeatRequest, Node: "client", Request: request, Count: count, Hit: hit, Delay: time.Duration(d(4, 3000)) * time.Millisecond})
	case 4:
		s.world.Target().Do(faults.Action{Op: faults.MoveLeader, Topic: "t", Partition: int32(d(4, stormPartitions))})
	case 5:
		s.world.Target().Do(faults.Action{Op: faults.MoveCoordinator})
	case 6:
		s.world.Target().Do(faults.Action{Op: faults.Crash, Node: node})
		s.world.Target().After(time.Duration(1+d(4, 4000))*time.Millisecond, func() { s.world.Target().Do(faults.Action{Op: faults.Restart, Node: node}) })
	case 7:
		s.world.Target().Do(faults.Action{Op: faults.Cut, Node: "client", Peer: node})
		s.world.Target().After(time.Duration(1+d(4, 4000))*time.Millisecond, func() { s.world.Target().Do(faults.Action{Op: faults.Join, Node: "client", Peer: node}) })
	}
}

// settle repeats a one-try call until its code is final.
func (s *storm) settle(what string, call func(done func(kafka.Code, error)), then func(kafka.Code)) {
	call(func(code kafka.Code, err error) {
		class := code.Class()
		if err != nil || class == kafka.Retry || class == kafka.FindCoordinator {
			s.loop.After(50*time.Millisecond, func() { s.settle(what, call, then) })
			return
		}
		then(code)
	})
}

// transaction writes number n of the storm: init, records, flush, commit, and then the next.
func (s *storm) transaction(n, of int, protocol int16, finished func()) {
	if n == of || s.err != nil {
		finished()
		return
	}
	var who kafka.Identity
	s.settle("init", func(done func(kafka.Code, error)) {
		s.client.InitProducerID("txn", time.Minute, protocol, func(w kafka.Identity, c kafka.Code, err error) { who = w; done(c, err) })
	}, func(code kafka.Code) {
		if code != kafka.OK {
			s.err = fmt.Errorf("init: %w", code)
			finished()
			return
		}
		p := s.client.NewProducer(kafka.ProducerConfig{Identity: who, BatchBytes: 120, Linger: 5 * time.Millisecond, DeliveryTimeout: 40 * time.Second})
		s.write(p, n, nil, func(wrote []string) { s.finish(p, wrote, func() { s.transaction(n+1, of, protocol, finished) }) })
	})
}

// write appends 20 records, one every 30 milliseconds.
func (s *storm) write(p *kafka.Producer, n int, wrote []string, then func([]string)) {
	i := len(wrote)
	if i == 20 {
		then(wrote)
		return
	}
	v := fmt.Sprintf("%d=%d.%d", i%stormPartitions, n, i)
	p.Append("t", int32(i%stormPartitions), nil, []byte(v), nil, 1)
	s.loop.After(30*time.Millisecond, func() { s.write(p, n, append(wrote, v), then) })
}

// finish flushes and commits; what cannot be flushed is left to the next init, which aborts it.
func (s *storm) finish(p *kafka.Producer, wrote []string, then func()) {
	p.Flush(func(err error) {
		p.Close()
		if err != nil {
			s.failed++
			s.loop.After(time.Second, then)
			return
		}
		s.settle("end", func(done func(kafka.Code, error)) {
			s.client.EndTxn(p.Identity(), true, func(_ kafka.Identity, c kafka.Code, err error) { done(c, err) })
		}, func(code kafka.Code) {
			switch {
			case code == kafka.OK:
				s.sink = append(s.sink, wrote...)
			case s.fenced && (code.Class() == kafka.Fenced || code == kafka.InvalidTxnState || code == kafka.InvalidProducerEpoch):
				s.unsure = append(s.unsure, transactionOf(wrote[0]))
				s.sink = append(s.sink, wrote...)
			default:
				s.err = fmt.Errorf("commit of %s: %w", wrote[0], code)
			}
			then()
		})
	})
}

// read reads everything committed up to stops into got.
func (s *storm) read(done func()) {
	var splits []operator.Split
	for p := range int32(stormPartitions) {
		splits = append(splits, operator.Split{Topic: "t", Partition: p, Stop: s.cluster.Bounds("t", p).Stable})
	}
	var f *kafka.Fetcher
	var poll func()
	poll = func() {
		status, err := f.Poll(5, func(r *operator.Record) error { s.got = append(s.got, string(r.Value)); return nil })
		switch {
		case err != nil || status == operator.Ended:
			s.err = err
			done()
		case status == operator.More:
			s.loop.Post(poll)
		}
	}
	f = s.client.NewFetcher(kafka.FetcherConfig{Isolation: kafka.ReadCommitted, PartitionMaxBytes: 300, Wake: func() { s.loop.Post(poll) }}, splits)
	s.loop.Post(poll)
}

func (s *storm) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ok := s.world.RunUntil(cond, s.world.Now().Add(30*time.Minute))
	if f := s.world.Failure(); f != nil {
		t.Fatal(f)
	}
	if !ok {
		t.Fatalf("%s does not end", what)
	}
}

// byPartition sorts lines "P=..." by partition and keeps their order within each.
func byPartition(lines []string) []string {
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b string) int { return int(a[0]) - int(b[0]) })
	return lines
}

// transactionOf is the number in "P=NUMBER.i".
func transactionOf(line string) string {
	_, rest, _ := strings.Cut(line, "=")
	n, _, _ := strings.Cut(rest, ".")
	return n
}

// wrote is what must be visible: all that was committed, and of what may have been committed whatever is there at all.
func (s *storm) wrote(truth []string) []string {
	return slices.DeleteFunc(byPartition(s.sink), func(line string) bool {
		n := transactionOf(line)
		return slices.Contains(s.unsure, n) && !slices.ContainsFunc(truth, func(o string) bool { return transactionOf(o) == n })
	})
}

// Under lost, late and repeated requests, moving leaders and coordinators and dying brokers, what was acknowledged and
// committed is visible once and in order, what failed is not visible, and a reader gets exactly that.
func TestClientInTheStorm(t *testing.T) {
	failed, committed, hits := 0, 0, 0
	for _, x := range []struct {
		profile  string
		protocol int16
	}{{"k41", 5}, {"k41-tv1", 4}, {"k400", 5}, {"k39", 4}} { // releases that do not drop markers
		for seed := range uint64(25) {
			s := newStorm(t, seed, x.profile)
			ended := false
			s.loop.Post(func() { s.transaction(0, 12, x.protocol, func() { ended = true }) })
			for i := range uint64(100) {
				s.world.Target().After(time.Duration(i*100)*time.Millisecond, func() {
					if !ended {
						s.fault(i)
					}
				})
			}
			s.until(t, "writing", func() bool { return ended })
			s.world.Target().Do(faults.Action{Op: faults.Calm})
			s.world.RunFor(90 * time.Second)
			if s.err != nil {
				t.Fatalf("%s seed %d: %v", x.profile, seed, s.err)
			}
			read := false
			s.loop.Post(func() { s.read(func() { read = true }) })
			s.until(t, "reading", func() bool { return read })
			var truth []string
			for p := range int32(stormPartitions) {
				for _, r := range s.cluster.ReadCommitted("t", p) {
					truth = append(truth, string(r.Record.Value))
				}
			}
			if want := s.wrote(truth); s.err != nil || !slices.Equal(byPartition(truth), want) || !slices.Equal(byPartition(s.got), want) {
				t.Fatalf("%s seed %d: wrote %d, the log has %d, read %d: %v", x.profile, seed, len(want), len(truth), len(s.got), s.err)
			}
			failed, committed, hits = failed+s.failed, committed+len(s.sink)/20, hits+s.hits
		}
	}
	t.Logf("%d transactions committed, %d failed and aborted, %d requests struck", committed, failed, hits)
	if failed == 0 || committed < 300 || hits < 500 {
		t.Errorf("%d committed, %d failed: the storm shows too little", committed, failed)
	}
}
