package faults

import "sort"

// Cell is one place in the table of faults and hooks.
type Cell struct {
	Kind   Kind
	Hook   Hook
	Reason string
}

// Impossible lists the cells that no plan can strike, with the reason.
var Impossible = []Cell{
	{SlowOperatorFault, hookR0, noTask},
	{SlowOperatorFault, hookR1, noTask},
	{SlowOperatorFault, hookR2, noTask},
	{SlowOperatorFault, hookR3, noTask},
	{SlowOperatorFault, hookR4, noTask},
	{SlowOperatorFault, hookR5, noTask},
	{SlowOperatorFault, hookR6, noTask},
}

const notDrawn = "part of written plans and of the scenario of rolling upgrades: a swarm's cluster keeps its level"

const noTask = "no task runs before the writers of the new generation open"

func impossible(k Kind, h Hook) bool { return ImpossibleReason(k, h) != "" }

// ImpossibleReason is why a cell cannot be struck; empty when it can.
func ImpossibleReason(k Kind, h Hook) string {
	if k == FinalizeFault {
		return notDrawn
	}
	for _, c := range Impossible {
		if c.Kind == k && c.Hook == h {
			return c.Reason
		}
	}
	return ""
}

// Coverage counts, over many runs, what was struck where. The zero value is empty.
type Coverage struct {
	struck   [KindCount][HookCount]int
	early    [KindCount]int // struck before any hook was passed there
	nothing  [KindCount]int // fired and hit nothing
	unfired  [KindCount]int // drawn, and the trigger never came
	requests []RequestCount // sorted by request, then kind
}

// RequestCount says how often one kind of fault struck one request.
type RequestCount struct {
	Request string
	Kind    Kind
	Count   int
}

// Add counts the outcomes of one plan.
func (c *Coverage) Add(p Plan, out []Outcome) {
	for i, o := range out {
		f := &p.Faults[i]
		switch {
		case !o.Fired:
			c.unfired[f.Kind]++
		case !o.Struck:
			c.nothing[f.Kind]++
		case o.Hook >= HookCount:
			c.early[f.Kind]++
		default:
			c.struck[f.Kind][o.Hook]++
		}
		if f.Request != "" && o.Struck {
			c.addRequest(f.Request, f.Kind, 1)
		}
	}
}

func (c *Coverage) addRequest(request string, k Kind, n int) {
	i := sort.Search(len(c.requests), func(i int) bool {
		r := &c.requests[i]
		return r.Request > request || r.Request == request && r.Kind >= k
	})
	if i == len(c.requests) || c.requests[i].Request != request || c.requests[i].Kind != k {
		c.requests = append(c.requests, RequestCount{})
		copy(c.requests[i+1:], c.requests[i:])
		c.requests[i] = RequestCount{request, k, 0}
	}
	c.requests[i].Count += n
}

// Merge adds another table to this one.
func (c *Coverage) Merge(o *Coverage) {
	for k := range KindCount {
		for h := range HookCount {
			c.struck[k][h] += o.struck[k][h]
		}
		c.early[k] += o.early[k]
		c.nothing[k] += o.nothing[k]
		c.unfired[k] += o.unfired[k]
	}
	for _, r := range o.requests {
		c.addRequest(r.Request, r.Kind, r.Count)
	}
}

// Struck is how often the kind struck something at the hook.
func (c *Coverage) Struck(k Kind, h Hook) int { return c.struck[k][h] }

// Early is how often the kind struck something before any hook was passed there.
func (c *Coverage) Early(k Kind) int { return c.early[k] }

// Nothing is how often the kind fired and hit nothing.
func (c *Coverage) Nothing(k Kind) int { return c.nothing[k] }

// Unfired is how often a fault of the kind was planned whose trigger never came.
func (c *Coverage) Unfired(k Kind) int { return c.unfired[k] }

// Requests lists which requests were struck, by which kind, how often.
func (c *Coverage) Requests() []RequestCount { return c.requests }

// Empty lists the cells that were never struck and are not declared impossible.
func (c *Coverage) Empty() []Cell {
	var cells []Cell
	for k := range KindCount {
		for h := range HookCount {
			if c.struck[k][h] == 0 && !impossible(k, h) {
				cells = append(cells, Cell{Kind: k, Hook: h})
			}
		}
	}
	return cells
}

// Never lists the kinds that were planned and never struck.
func (c *Coverage) Never() []Kind {
	var never []Kind
	for k := range KindCount {
		total := c.early[k]
		for h := range HookCount {
			total += c.struck[k][h]
		}
		if total == 0 && c.nothing[k]+c.unfired[k] > 0 {
			never = append(never, k)
		}
	}
	return never
}
