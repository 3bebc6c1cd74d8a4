package brokerfuzz_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/brokerfuzz"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim/simbroker/reference"
)

// What a sequence says must be a function of the sequence, not of the moments that a world draws: otherwise nothing could be
// compared.
func TestTranscriptsDoNotDependOnTheWorld(t *testing.T) {
	for _, profile := range []string{"k44", "k39", "moving k44", "moving k39"} {
		profile, moving := strings.CutPrefix(profile, "moving ")
		c, err := reference.New(profile)
		if err != nil {
			t.Fatal(err)
		}
		if moving {
			c.Brokers = 3
		}
		for i := range uint64(100) {
			s := brokerfuzz.Draw(1, i, brokerfuzz.Shape{Moves: moving})
			var first string
			for seed := range uint64(2) {
				c.Seed = seed
				got, err := c.Run(s)
				if err != nil {
					t.Fatalf("%v\n%s%s", err, got, s)
				}
				if seed == 0 {
					first = fmt.Sprint(got)
				} else if first != fmt.Sprint(got) {
					t.Fatalf("%s: seed 0 says\n%sseed %d says\n%s", profile, first, seed, got)
				}
			}
		}
	}
}

// If ids of a sequence shared a partition of the transaction log, a move of one would move the other: in one cluster and not in
// another, by their names.
func TestTranscriptsDoNotDependOnNames(t *testing.T) {
	s, err := brokerfuzz.Parse(`onefold sequence 1
partitions 1
producer a id t0 protocol 4 timeout 1m0s
producer b id t1 protocol 4 timeout 1m0s
init a
init b
add b 0
move-coordinator a
produce b 0 next
end b commit
`)
	if err != nil {
		t.Fatal(err)
	}
	c, err := reference.New("k44")
	if err != nil {
		t.Fatal(err)
	}
	c.Brokers = 3
	first := ""
	for i := range 50 {
		c.Name = fmt.Sprintf("%06x-%d", 0xabcdef, i) // as long as those on real clusters: of short ones the hashes never meet
		got, err := c.Run(s)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got.String()
		}
		if got.String() != first {
			t.Fatalf("%s\nand called %s\n%s", first, c.Name, got)
		}
	}
}

// A machine that stops for longer than anything is waited for must not be taken for a cluster that stays as it is.
func TestTranscriptsDoNotDependOnOneSlowAnswer(t *testing.T) {
	s, err := brokerfuzz.Parse(`onefold sequence 1
partitions 2
producer a id t0 protocol 4 timeout 1m0s
producer b id t0 protocol 4 timeout 1m0s
init a
add a 0
offsets a
mark a 1
produce a 0 next
init b
add b 1
produce b 1 next
end b commit
add b 0
`)
	if err != nil {
		t.Fatal(err)
	}
	c, err := reference.New("k44")
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for slow, answers := 0, 1; slow <= answers; slow++ {
		answers = 0
		c.Through = func(l env.Loop, cluster broker.Requests) broker.Requests {
			return slowly{cluster, func(done func()) {
				if answers++; answers == slow {
					l.After(8*time.Second, done)
					return
				}
				done()
			}}
		}
		got, err := c.Run(s)
		if err != nil {
			t.Fatal(err)
		}
		if slow == 0 {
			first = got.String()
		}
		if got.String() != first {
			t.Fatalf("%s\nand with answer %d late\n%s", first, slow, got)
		}
	}
}

// slowly is a port whose answers are handed on by somebody else.
type slowly struct {
	broker.Requests
	hand func(done func())
}

func (s slowly) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	s.Requests.Send(node, req, func(r kmsg.Response, err error) { s.hand(func() { done(r, err) }) })
}
