package faults

import (
	"fmt"
	"strings"
	"time"
)

// Nemesis carries out one plan on one target. It lives on the target's thread: the target calls Passed for every hook,
// and the nemesis acts from there and from its own After callbacks.
type Nemesis struct {
	target   Target
	nodes    []Node
	armed    []armed
	holds    []hold
	passed   []Passed // newest hook per node, in the order of nodes
	last     Hook     // newest hook of all
	progress progress
	healed   bool
	until    time.Duration // when the last transaction-timeout lets go
}

// armed is a fault of the plan on its way.
type armed struct {
	fault Fault
	seen  int // hooks that matched so far
	out   Outcome
}

// Outcome is what became of one fault.
type Outcome struct {
	Fired bool          // its trigger came
	At    time.Duration // when
	// Hook is where it struck: the trigger's; of a trigger at a time the newest one passed on the nodes struck.
	Hook Hook
	// Struck: something was in flight or prepared where it hit. Fired without Struck hit nothing.
	Struck bool
	Hits   int // messages, operations and callbacks struck
}

// hold is a state that faults keep something in; it ends when the last of them ends.
type hold struct {
	undo  Action
	count int
}

// NewNemesis checks a plan against the nodes of a target. The plan is armed by Arm.
func NewNemesis(p Plan, t Target) (*Nemesis, error) {
	n := &Nemesis{target: t, nodes: t.Nodes(), last: NoHook}
	n.passed = make([]Passed, len(n.nodes))
	for i := range n.passed {
		n.passed[i].Hook = NoHook
	}
	for _, f := range p.Faults {
		if err := n.check(f); err != nil {
			return nil, err
		}
		n.armed = append(n.armed, armed{fault: f, out: Outcome{Hook: NoHook}})
	}
	return n, nil
}

func (n *Nemesis) check(f Fault) error {
	operands := kinds[f.Kind].operands
	names := []string{f.Node, f.Peer}
	for i, name := range names {
		switch {
		case name == "" || name == All:
		case name == Self:
			if !f.Trigger.OnHook || i == 1 {
				return fmt.Errorf("%q: self is the node that passed the hook, so it needs one, and cannot be the other end", f)
			}
		case operands != "b" && (n.members(name) != nil || n.locates(name)):
		case n.index(name) < 0:
			return fmt.Errorf("%q: there is no node %s; there are %s", f, name, n.names())
		case strings.HasPrefix(operands, "b") && n.nodes[n.index(name)].Role != Broker:
			return fmt.Errorf("%q: %s is no broker", f, name)
		}
	}
	return nil
}

func (n *Nemesis) names() string {
	s := ""
	for i, node := range n.nodes {
		if i > 0 {
			s += ", "
		}
		s += node.Name
	}
	return s
}

func (n *Nemesis) index(name string) int {
	for i := range n.nodes {
		if n.nodes[i].Name == name {
			return i
		}
	}
	return -1
}

// Arm starts the clock of the triggers at a time, counted from the run's begin.
func (n *Nemesis) Arm() {
	for i := range n.armed {
		a := &n.armed[i]
		if !a.fault.Trigger.OnHook {
			n.target.After(max(0, a.fault.Trigger.At-n.target.Now()), func() {
				if !n.healed {
					n.strike(a, NoHook, "")
				}
			})
		}
	}
}

// Passed is told of every hook, in mid-callback of the node that passed it. Faults strike before it returns.
func (n *Nemesis) Passed(p Passed) {
	n.progress.step(p)
	n.last = p.Hook
	if i := n.index(p.Node); i >= 0 {
		n.passed[i] = p
	}
	if n.healed {
		return
	}
	for i := range n.armed {
		a := &n.armed[i]
		if !a.out.Fired && a.fault.Trigger.Matches(p) {
			if a.seen++; a.seen >= max(1, a.fault.Trigger.Nth) {
				n.strike(a, p.Hook, p.Node)
			}
		}
	}
}

// Heal ends all faults that still hold something and disarms the rest: the burn is over.
func (n *Nemesis) Heal() {
	n.healed = true
	for i := range n.holds {
		if n.holds[i].count > 0 {
			n.holds[i].count = 0
			n.target.Do(n.holds[i].undo)
		}
	}
	n.target.Do(Action{Op: Calm})
}

// BurnUntil is when the burn may end at the earliest: at its time, unless a transaction-timeout still holds the commits
// back. One that is healed before its time strikes nothing, and what follows it needs a while, too.
func (n *Nemesis) BurnUntil(burn time.Duration) time.Duration {
	const aftermath = 15 * time.Second
	if n.until == 0 {
		return burn
	}
	return max(burn, n.until+aftermath)
}

// Outcomes are what became of the plan's faults, in its order.
func (n *Nemesis) Outcomes() []Outcome {
	out := make([]Outcome, len(n.armed))
	for i := range n.armed {
		out[i] = n.armed[i].out
	}
	return out
}
