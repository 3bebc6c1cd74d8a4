package brokerfuzz

import (
	"fmt"
	"slices"
	"strings"
)

// view is what can be seen of the sequence's part of the cluster at one moment.
type view struct {
	ids   []transaction
	parts []partition
	lanes []string // of the group
}

// transaction is an id as its coordinator describes it.
type transaction struct {
	code      int16
	state     string
	pid       int64
	epoch     int16
	timeoutMs int32
	parts     []int32 // of the topic
	offsets   bool    // the group's partition, too
	others    []string
}

// partition is a partition as its leader describes it.
type partition struct {
	start, stable, high int64
	producers           []producer
	batches             []string // since the view before
}

type producer struct {
	pid      int64
	epoch    int32
	sequence int32
	term     int32
	open     int64
}

func (t *transaction) has(partition int32) bool { return slices.Contains(t.parts, partition) }

func (t *transaction) line(r *run) string {
	if t.code != 0 {
		return code(t.code)
	}
	s := fmt.Sprintf("%s %s timeout %d", t.state, r.identity(t.pid, int32(t.epoch)), t.timeoutMs)
	if len(t.parts) > 0 || t.offsets || len(t.others) > 0 {
		s += " in"
		for _, p := range t.parts {
			s += fmt.Sprintf(" %d", p)
		}
		if t.offsets {
			s += " group"
		}
		for _, o := range t.others {
			s += " " + o
		}
	}
	return s
}

func (p *partition) line(r *run) string {
	s := fmt.Sprintf("start %d stable %d high %d", p.start, p.stable, p.high)
	for _, q := range p.producers {
		s += fmt.Sprintf(", %s last %d", r.identity(q.pid, q.epoch), q.sequence)
		switch term := q.term - r.termOf(q.pid); {
		case q.term < 0:
		case r.o.Mover != nil && term > 0: // how often a move makes a new leader epoch is no business of ours
			s += " term later"
		default:
			s += fmt.Sprintf(" term %+d", term)
		}
		if q.open >= 0 {
			s += fmt.Sprintf(" open %d", q.open)
		}
	}
	return s
}

// termOf is the first epoch of the coordinator of the id that a producer id belongs to.
func (r *run) termOf(pid int64) int32 {
	for _, k := range r.terms {
		if k.pid == pid {
			return k.term
		}
	}
	return 0
}

// knowTerm remembers what the coordinator epochs of a producer id are relative to.
func (r *run) knowTerm(pid int64, id string) {
	for _, k := range r.terms {
		if k.pid == pid {
			return
		}
	}
	r.terms = append(r.terms, pidTerm{pid, r.term(id)})
}

type pidTerm struct {
	pid  int64
	term int32
}

// order puts the markers of transactions that timed out together into the order of producers: which comes first is a race
// of theirs.
func (v *view) order() {
	for i := range v.parts {
		b := v.parts[i].batches
		offsets := make([]string, len(b))
		for j := range b {
			offsets[j], b[j], _ = strings.Cut(b[j], " ")
		}
		slices.Sort(b)
		for j := range b {
			b[j] = offsets[j] + " " + b[j]
		}
	}
}

// changes are the lines of a view that differ from those of the one before.
func (r *run) changes(before *view) (lines []string) {
	for i := range r.view.ids {
		now := r.view.ids[i].line(r)
		if len(before.ids) == 0 || before.ids[i].line(r) != now {
			lines = append(lines, r.bare(i)+" "+now)
		}
	}
	for i := range r.view.parts {
		p := &r.view.parts[i]
		for _, b := range p.batches {
			lines = append(lines, fmt.Sprintf("%d: %s", i, b))
		}
		if now := p.line(r); len(before.parts) == 0 || before.parts[i].line(r) != now {
			lines = append(lines, fmt.Sprintf("%d: %s", i, now))
		}
	}
	if now := strings.Join(r.view.lanes, " "); strings.Join(before.lanes, " ") != now {
		lines = append(lines, "group "+now)
	}
	return lines
}
