// Package brokertest is the conformance suite of broker.Requests: what exactly-once rests on, asked of any cluster in the
// words of engine/kafka. The simulated broker, an embedded kfake and real Kafka pass it, each in a test of its own package,
// except for the deviations that are listed with their reasons, which must stay exact.
//
//	brokertest.Run(t, backend, brokertest.Kafka44, brokertest.KfakeDeviations()...)
//
// A case is a script of package stage. The first 25 are the properties P1 to P25 of Kafka's transactions: each looks at many
// facts and compares them with what its Release is expected to do. The table in PROPERTIES.md says what they are about and
// where they were seen.
package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/broker/stage"
)

// Deviation is a fact that a backend is known to answer differently, or with an empty Fact a case that it does not get
// through. A listed one that is as it should be is a failure of the list, and so is one that differs otherwise.
type Deviation struct {
	Case string // its name; a property's is its number: P7
	Fact string
	// Is what the backend does instead; not compared without a Fact.
	Is     string
	Reason string
}

// Cases is how many properties and other cases there are for a backend.
func Cases(b stage.Backend) (properties, others int) {
	for _, c := range cases {
		switch {
		case !c.applies(b):
		case c.number > 0:
			properties++
		default:
			others++
		}
	}
	return properties, others
}

// Run runs all cases and reports how many there were.
func Run(t *testing.T, b stage.Backend, r Release, deviations ...Deviation) {
	t.Helper()
	for _, d := range deviations {
		if !slices.ContainsFunc(cases, func(c testCase) bool { return c.id() == d.Case }) {
			t.Errorf("deviation %q names no case", d.Case)
		}
	}
	var same, facts [2]int
	var seen []string
	for i, c := range cases {
		if !c.applies(b) {
			continue
		}
		kind := 0
		if c.number > 0 {
			kind = 1
		}
		t.Run(c.title(), func(t *testing.T) {
			x, err := c.play(b, i, r)
			facts[kind] += x.facts
			bad, listed := x.judge(c, err, deviations)
			seen = append(seen, listed...)
			for _, line := range bad {
				t.Error(line)
			}
			if len(bad)+len(listed) == 0 {
				same[kind]++
			}
		})
	}
	for _, line := range seen {
		t.Log("deviation: " + line)
	}
	properties, others := Cases(b)
	t.Logf("%s as Kafka %s: %d of %d properties (%d facts) and %d of %d other cases are as expected, %d facts deviate as listed",
		b.Name(), r.Version, same[1], Properties, facts[1], same[0], others, len(seen))
	if properties < Properties {
		t.Logf("%s: %d properties need a backend that moves leaders and coordinators", b.Name(), Properties-properties)
	}
}

// Properties is how many there are.
const Properties = 25

type testCase struct {
	number int // of a property
	name   string
	run    func(t *stage.T)
	look   func(p *property)
	moves  bool // needs a Mover
}

func (c testCase) applies(b stage.Backend) bool {
	_, can := b.(stage.Mover)
	return can || !c.moves
}

func (c testCase) id() string {
	if c.number > 0 {
		return fmt.Sprint("P", c.number)
	}
	return c.name
}

func (c testCase) title() string {
	if c.number > 0 {
		return c.id() + " " + c.name
	}
	return c.name
}

// play runs a case. A case that looks at no facts has a single one: that it gets through.
func (c testCase) play(b stage.Backend, number int, r Release) (property, error) {
	p := property{Release: r}
	err := stage.Run(b, number, func(t *stage.T) {
		t.Time = t.Process.Wall().UnixMilli()
		if c.run != nil {
			p.facts++
			c.run(t)
			return
		}
		p.T = t
		c.look(&p)
	})
	return p, err
}

// Differences plays all cases and tells what differs, without reasons: what a list of deviations is made of.
func Differences(b stage.Backend, r Release) (list []Deviation) {
	for i, c := range cases {
		if !c.applies(b) {
			continue
		}
		p, err := c.play(b, i, r)
		for _, w := range p.wrong {
			list = append(list, Deviation{Case: c.id(), Fact: w.fact, Is: w.is})
		}
		if err != nil {
			list = append(list, Deviation{Case: c.id()})
		}
	}
	return list
}

// property is a property while it is looked at.
type property struct {
	*stage.T
	Release
	facts int
	wrong []difference
}

type difference struct{ fact, is, want string }

// is compares one fact. Facts of one property have different names.
func (p *property) is(fact string, got any, want any) {
	p.facts++
	if g, w := strings.TrimSpace(fmt.Sprint(got)), strings.TrimSpace(fmt.Sprint(want)); g != w {
		p.wrong = append(p.wrong, difference{fact, g, w})
	}
}

// becomes compares a fact that the cluster may need a moment for.
func (p *property) becomes(fact string, look func() string, want string) {
	got := look()
	p.Within(stage.Patience, func() bool {
		if got != want {
			got = look()
		}
		return got == want
	})
	p.is(fact, got, want)
}

// isOneOf compares a fact that depends on a moment.
func (p *property) isOneOf(fact string, got any, want ...any) {
	for _, w := range want {
		if fmt.Sprint(got) == fmt.Sprint(w) {
			p.facts++
			return
		}
	}
	p.is(fact, got, fmt.Sprint("one of ", want))
}

// judge compares what was seen with the list of deviations.
func (p *property) judge(c testCase, err error, deviations []Deviation) (bad, listed []string) {
	open := map[string]Deviation{}
	for _, d := range deviations {
		if d.Case == c.id() {
			open[d.Fact] = d
		}
	}
	take := func(fact, is, line string) {
		d, known := open[fact]
		delete(open, fact)
		if known && (fact == "" || d.Is == is) {
			listed = append(listed, fmt.Sprintf("%s: %s (%s)", c.title(), line, d.Reason))
			return
		}
		bad = append(bad, line)
	}
	for _, w := range p.wrong {
		take(w.fact, w.is, fmt.Sprintf("%s: %s; expected %s", w.fact, w.is, w.want))
	}
	if err != nil {
		take("", "", "does not get through: "+err.Error())
	}
	for _, d := range deviations { // in their order
		if _, left := open[d.Fact]; left && d.Case == c.id() {
			bad = append(bad, fmt.Sprintf("%s: is listed as deviating and does not: %s", d.Fact, d.Reason))
		}
	}
	return bad, listed
}
