// Package reference runs sequences of package brokerfuzz on the simulated broker: what a real cluster is compared with.
package reference

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/brokerfuzz"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// Cluster is a kind of simulated cluster: every sequence runs in a world of its own, so equal sequences have equal
// transcripts.
type Cluster struct {
	Profile simbroker.Profile
	Brokers int    // default 1
	Seed    uint64 // of the worlds; a transcript must not depend on it
	Name    string // of the runs; nor on this; default "s"
	// Through stands between the client and the cluster; nil: nothing does.
	Through func(l env.Loop, cluster broker.Requests) broker.Requests
}

// New is a cluster of a release, as simbroker.ProfileOf knows it.
func New(profile string) (Cluster, error) {
	p, known := simbroker.ProfileOf(profile)
	if !known {
		return Cluster{}, fmt.Errorf("there is no profile %q; there are %s; from 4.0 on also with -tv0 or -tv1 behind it", profile, strings.Join(simbroker.ProfileNames(), ", "))
	}
	return Cluster{Profile: p}, nil
}

// Shapes are the kinds of sequences to draw for the release, one after the other: what runs side by side must not mix clients
// from before protocol 4 with others.
func (c Cluster) Shapes() []brokerfuzz.Shape {
	now := []int16{4, 5, 5}
	moves := c.Brokers > 1
	switch {
	case !c.Profile.HasTransactionVersion:
		now = []int16{4}
	case c.Profile.TransactionVersion == 0:
		// Protocol 5 leaves ids stuck, and a leader that asks about one of its producers and others in one request has 35 for all.
		return []brokerfuzz.Shape{
			{Protocols: []int16{4}, Moves: moves},
			{Protocols: []int16{3}, Moves: moves},
			{Protocols: []int16{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5}, Moves: moves, Alone: true},
		}
	}
	return []brokerfuzz.Shape{{Protocols: now, Moves: moves}, {Protocols: []int16{3}, Moves: moves}}
}

// Run performs one sequence.
func (c Cluster) Run(s brokerfuzz.Sequence) (brokerfuzz.Transcript, error) {
	w := sim.New(sim.Options{Seed: c.Seed})
	defer w.Close()
	k := simbroker.New(w, simbroker.Config{
		Brokers: max(1, c.Brokers), Profile: c.Profile, ScanInterval: 100 * time.Millisecond, Encode: true,
		Replication: simbroker.Replication{Factor: min(3, max(1, c.Brokers))}, MinISR: 1 + c.Brokers/3,
		TxnShards: 5, OffsetsPartitions: 5, // as .ci/kafka has them
	})
	w.BrokerPort = k.Requests
	if c.Through != nil {
		w.BrokerPort = func(n *sim.Node, l env.Loop, class broker.Class) broker.Requests {
			return c.Through(l, k.Requests(n, l, class))
		}
	}
	n := w.NewNode("client", nil)
	n.Start()
	w.RunFor(time.Second)
	loop := n.NewLoop("sequence")
	var got brokerfuzz.Transcript
	var failed error
	finished := false
	o := brokerfuzz.Options{Name: cmp.Or(c.Name, "s")}
	if c.Brokers > 1 {
		o.Mover = mover{k}
	}
	brokerfuzz.Run(n.Process(), loop, s, o, func(t brokerfuzz.Transcript, err error) {
		got, failed, finished = t, err, true
	})
	w.RunUntil(func() bool { return finished }, w.Now().Add(time.Hour))
	if f := w.Failure(); f != nil {
		return got, fmt.Errorf("%w\n%s", f, f.Stack)
	}
	if !finished {
		return got, errors.New("not finished within an hour of the world")
	}
	return got, failed
}

// mover moves to the next broker.
type mover struct{ c *simbroker.Cluster }

func (m mover) MoveLeader(topic string, partition int32, done func(error)) {
	done(moved(m.c.MoveLeader(topic, partition, (m.c.Leader(topic, partition)+1)%m.c.Brokers())))
}

func (m mover) MoveCoordinator(id string, done func(error)) {
	done(moved(m.c.MoveCoordinator(id, (m.c.Coordinator(id)+1)%m.c.Brokers())))
}

func moved(ok bool) error {
	if !ok {
		return errors.New("it stays where it is")
	}
	return nil
}
