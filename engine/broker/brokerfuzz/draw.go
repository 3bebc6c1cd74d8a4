package brokerfuzz

import (
	"fmt"
	"time"
)

// Shape says what sequences are drawn.
type Shape struct {
	Ops int // operations of each sequence; default 40
	// Protocols are drawn from; one that stands there twice is drawn more often. Default 3, 4, 5.
	//
	// Sequences that run side by side should not have both 3 and another: a leader asks the coordinator about several
	// producers in one request, and translates all answers as the version of the first one demands, so that 120 or 48 would
	// depend on who else is asking.
	Protocols []int16
	Short     time.Duration // the short timeout; default 4 s
	Moves     bool          // leaders and coordinators can be moved
	// Alone: sequences of this shape run one after the other, since what one asks changes what another is answered.
	Alone bool
}

// Draw makes the sequence of a number below a seed. Equal arguments make equal sequences.
func Draw(seed, number uint64, shape Shape) Sequence {
	if shape.Ops == 0 {
		shape.Ops = 40
	}
	if shape.Protocols == nil {
		shape.Protocols = []int16{3, 4, 5}
	}
	if shape.Short == 0 {
		shape.Short = 4 * time.Second
	}
	d := &drawer{die: die{mix(mix(seed) ^ number)}, shape: shape}
	d.s = Sequence{Comment: fmt.Sprintf("seed %d, sequence %d", seed, number), Partitions: 2}
	d.producers()
	for range shape.Ops {
		d.s.Ops = append(d.s.Ops, d.op())
	}
	return d.s
}

// die is a stream of numbers.
type die struct{ state uint64 }

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below is a number from 0 to n-1.
func (d *die) below(n int) int {
	d.state = mix(d.state)
	return int(d.state % uint64(n))
}

func (d *die) chance(of, in int) bool { return d.below(in) < of }

func (d *die) one(words ...string) string { return words[d.below(len(words))] }

// drawer draws one sequence. It follows roughly what its producers would have to do, so that most operations mean
// something.
type drawer struct {
	die
	shape Shape
	s     Sequence
	minds []mind
}

type mind struct {
	ready  bool // has an identity
	joined [2]bool
	group  bool
	open   bool
}

func (d *drawer) producers() {
	n := 2 + d.below(3)
	for i := range n {
		p := Producer{
			Name: string(rune('a' + i)), ID: d.one("t0", "t0", "t1"), Timeout: time.Minute,
			Protocol: d.shape.Protocols[d.below(len(d.shape.Protocols))],
		}
		if i > 0 && d.chance(1, 6) {
			p.ID = ""
		}
		if i > 0 && p.ID != "" && d.chance(1, 2) {
			p.Protocol = d.s.Producers[0].Protocol
		}
		if d.chance(1, 3) {
			p.Timeout = d.shape.Short
		}
		d.s.Producers = append(d.s.Producers, p)
	}
	d.minds = make([]mind, n)
}

func (d *drawer) partition() int32 { return int32(d.below(int(d.s.Partitions))) }

func (d *drawer) who() string {
	if d.chance(9, 10) {
		return current
	}
	return d.one("previous", "previous", "older", "ahead", "foreign")
}

func (d *drawer) op() Op {
	i := d.below(len(d.s.Producers))
	p, m := &d.s.Producers[i], &d.minds[i]
	var o Op
	switch {
	case d.chance(1, 4) && (m.ready || d.chance(1, 4)):
		o = d.odd(p, m)
	case !m.ready || d.chance(1, 25):
		o = Op{Kind: Init, Producer: p.Name}
		if m.ready && d.chance(1, 2) {
			o.As = d.one(current, current, "previous", "older", "ahead", "foreign")
		}
		*m = mind{ready: true}
	case p.ID == "":
		o = Op{Kind: Produce, Producer: p.Name, Partition: d.partition(), Sequence: d.sequence(), Form: "idempotent", As: d.who()}
	default:
		o = d.step(p, m)
	}
	if o.Kind == Produce {
		o.Records = 1 + d.below(3)
	}
	if o.Producer != "" && option(shapeOf(o.Kind), "protocol") != nil && d.chance(1, 20) {
		o.Protocol = d.shape.Protocols[d.below(len(d.shape.Protocols))]
	}
	return o
}

func (d *drawer) sequence() string {
	if d.chance(4, 5) {
		return "next"
	}
	return d.one("dup", "dup", "gap", "old", "zero")
}

// step is the next thing that a transactional producer does.
func (d *drawer) step(p *Producer, m *mind) Op {
	part := d.partition()
	switch {
	case m.open && d.chance(1, 4):
		*m = mind{ready: true}
		return Op{Kind: End, Producer: p.Name, Verdict: d.one("commit", "commit", "abort"), As: d.who()}
	case d.chance(1, 6):
		if p.Protocol < 5 && !m.group && d.chance(9, 10) {
			m.group, m.open = true, true
			return Op{Kind: Offsets, Producer: p.Name, As: d.who()}
		}
		m.open = true
		return Op{Kind: Mark, Producer: p.Name, Partition: part, As: d.who()}
	case p.Protocol < 5 && !m.joined[part] && d.chance(9, 10):
		m.joined[part], m.open = true, true
		o := Op{Kind: Add, Producer: p.Name, Partition: part, As: d.who()}
		if d.chance(1, 15) {
			o.Unknown = "unknown"
		}
		return o
	}
	m.open = true
	return Op{Kind: Produce, Producer: p.Name, Partition: part, Sequence: d.sequence(), Form: transactional, As: d.who()}
}

// odd is something that happens besides.
func (d *drawer) odd(p *Producer, m *mind) Op {
	part := d.partition()
	isolation := d.one("committed", "uncommitted")
	switch n := d.below(60); {
	case n < 12:
		return Op{Kind: Repeat, Back: 1 + d.below(2)*d.below(8)}
	case n < 16:
		for i := range d.minds {
			if d.s.Producers[i].Timeout < short {
				d.minds[i] = mind{ready: d.minds[i].ready && d.chance(1, 2)}
			}
		}
		return Op{Kind: Wait}
	case n < 18:
		*m = mind{}
		return Op{Kind: Restart, Producer: p.Name}
	case n < 21:
		return Op{Kind: DeleteRecords, Partition: part, At: d.one("high", "beyond", "1", "2", "4")}
	case n < 25:
		return Op{Kind: Fetch, Partition: part, Isolation: isolation, At: d.one("start", "start", "high", "beyond", "1", "3")}
	case n < 29:
		return Op{Kind: ListOffsets, Partition: part, Isolation: isolation, At: d.one("earliest", "latest", "time", "future")}
	case n < 32:
		return Op{Kind: OffsetFetch, Mode: d.one("stable", "unstable"), All: d.one("", "all")}
	case n < 34:
		return Op{Kind: Describe, Producer: p.Name}
	case n < 36:
		return Op{Kind: List, Producer: p.Name}
	case n < 37:
		return Op{Kind: Producers, Partition: part}
	case n < 40:
		return Op{Kind: Commit, Partition: part}
	case n < 42:
		return Op{Kind: Marker, Producer: p.Name, Partition: part, Verdict: d.one("commit", "abort"), As: d.who(), Term: d.one(same, same, same, "older", "newer")}
	case n < 43:
		return Op{Kind: DeleteGroup}
	case n < 45:
		return Op{Kind: DeleteOffset, Partition: part}
	case n < 47:
		return Op{Kind: End, Producer: p.Name, Verdict: d.one("commit", "abort"), As: d.one("previous", "older", "ahead", "foreign")}
	case n < 50:
		return Op{Kind: Produce, Producer: p.Name, Partition: part, Sequence: d.sequence(), Form: d.one("idempotent", "plain", "plain"), As: d.who()}
	case n < 54 && d.shape.Moves:
		return Op{Kind: MoveLeader, Partition: part}
	case n < 56 && d.shape.Moves:
		return Op{Kind: MoveCoordinator, Producer: p.Name}
	}
	return Op{Kind: Init, Producer: p.Name, As: d.one("", current, "previous", "older", "ahead", "foreign")}
}
