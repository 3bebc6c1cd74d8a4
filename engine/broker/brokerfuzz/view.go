package brokerfuzz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka"
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

// settle waits until nothing moves any more and returns what has changed.
func (r *run) settle(began env.Instant, waited bool) []string {
	before := r.view
	reason := r.observe(began)
	if waited {
		r.view.order()
	}
	lines := r.changes(&before)
	switch {
	case reason != "" && !strings.HasPrefix(reason, "open"):
		r.stuck = true
		return append(lines, "does not settle: "+reason)
	case r.stuck:
	case waited:
		clear(r.opened)
	default:
		r.hurried(began)
	}
	return lines
}

// observe looks until the view is settled or patience is at its end, and says what is not settled then.
func (r *run) observe(began env.Instant) string {
	until := r.process.Now().Add(r.o.Patience)
	hanging := r.process.Now().Add(300 * time.Millisecond)
	var batches [][]string
	for {
		v := r.look1()
		reason := v.unsettled()
		for i := range v.parts {
			switch high := v.parts[i].high; {
			case r.seen == nil:
				r.seen = make([]int64, len(v.parts))
			case high < r.seen[i]:
				reason = fmt.Sprintf("the new leader of partition %d does not know yet what is committed", i)
			}
			r.seen[i] = max(r.seen[i], v.parts[i].high)
		}
		if batches == nil {
			batches = make([][]string, len(v.parts))
		}
		for i := range v.parts {
			batches[i] = append(batches[i], v.parts[i].batches...)
		}
		r.view = v
		open := strings.HasPrefix(reason, "open")
		switch {
		case reason == "", open && (reason == r.accepted || r.process.Now() >= hanging), r.process.Now() >= until:
			if open {
				r.accepted = reason
			}
			for i := range v.parts {
				r.view.parts[i].batches = batches[i]
			}
			return reason
		}
		r.sleep(10 * time.Millisecond)
	}
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

// unsettled says what is on its way, as far as it can be seen. A reason that begins with "open" may stay for ever.
func (v *view) unsettled() string {
	group := false
	for i := range v.ids {
		t := &v.ids[i]
		if strings.HasPrefix(t.state, "Prepare") {
			return "id " + t.state
		}
		group = group || t.state == "Ongoing" && t.offsets
	}
	for i := range v.parts {
		p := &v.parts[i]
		stable := p.high
		for _, q := range p.producers {
			if q.open < 0 {
				continue
			}
			stable = min(stable, q.open)
			known := false
			for j := range v.ids {
				known = known || v.ids[j].state == "Ongoing" && v.ids[j].pid == q.pid && v.ids[j].has(int32(i))
			}
			if !known {
				return fmt.Sprintf("open: partition %d from %d", i, q.open)
			}
		}
		if stable != p.stable && stable >= p.start {
			return fmt.Sprintf("open: the stable offset of partition %d is %d, not %d", i, p.stable, stable)
		}
	}
	for _, l := range v.lanes {
		if strings.Contains(l, ":") && !group {
			return "open: an offset is pending: " + l
		}
	}
	return ""
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

// hurried ends the run when a transaction with a short timeout is older than is safe.
func (r *run) hurried(began env.Instant) {
	for i := range r.view.ids {
		t := &r.view.ids[i]
		timeout := time.Duration(t.timeoutMs) * time.Millisecond
		if r.opened[i] != 0 && r.process.Now().Sub(r.opened[i]) > timeout*7/10 {
			panic(failure{fmt.Errorf("operation %d: %w", r.operation, ErrLate)})
		}
		switch {
		case t.state != "Ongoing" || timeout >= short:
			r.opened[i] = 0
		case r.opened[i] == 0:
			r.opened[i] = max(began, 1)
		}
	}
}

// look1 takes one view.
func (r *run) look1() view {
	var v view
	v.ids = r.describe()
	v.parts = r.partitions()
	if r.touched {
		v.lanes = r.offsets()
	}
	return v
}

func (r *run) describe() []transaction {
	out := make([]transaction, len(r.ids))
	if len(r.ids) == 0 {
		return out
	}
	if len(r.cluster.nodes) == 1 {
		r.describeSome(r.ids, out)
		return out
	}
	for i := range r.ids {
		r.describeSome(r.ids[i:i+1], out)
	}
	return out
}

func (r *run) describeSome(ids []string, out []transaction) {
	x, trouble := r.send(&request{
		to: target{coordinatorOf, ids[0], 0}, build: func() kmsg.Request { return describeRequest(ids) }, code: describeCode,
	})
	if trouble != "" {
		r.fail("describe: %s", trouble)
	}
	offsets := hash(r.group) % r.cluster.offsets
	for _, s := range x.(*kmsg.DescribeTransactionsResponse).TransactionStates {
		i := slices.Index(r.ids, s.TransactionalID)
		if i < 0 {
			continue
		}
		t := transaction{code: s.ErrorCode, state: s.State, pid: s.ProducerID, epoch: s.ProducerEpoch, timeoutMs: s.TimeoutMillis}
		for _, topic := range s.Topics {
			for _, p := range topic.Partitions {
				switch {
				case topic.Topic == r.topic:
					t.parts = append(t.parts, p)
				case topic.Topic == "__consumer_offsets" && p == offsets:
					t.offsets = true
				default:
					t.others = append(t.others, fmt.Sprintf("%s-%d", topic.Topic, p))
				}
			}
		}
		slices.Sort(t.parts)
		slices.Sort(t.others)
		out[i] = t
	}
}

// partitions asks the leaders for what they know, and for the batches since the view before.
func (r *run) partitions() []partition {
	out := make([]partition, r.seq.Partitions)
	for first := int32(0); first < r.seq.Partitions; {
		last := first + 1 // of those that one leader has; on one broker all
		for len(r.cluster.nodes) == 1 && last < r.seq.Partitions {
			last++
		}
		r.producers(first, last, out)
		for !r.fetched(first, last, out) {
		}
		first = last
	}
	return out
}

func (r *run) producers(first, last int32, out []partition) {
	x, trouble := r.send(&request{
		to: target{leaderOf, "", first},
		build: func() kmsg.Request {
			q := kmsg.NewPtrDescribeProducersRequest()
			t := kmsg.NewDescribeProducersRequestTopic()
			t.Topic = r.topic
			for i := first; i < last; i++ {
				t.Partitions = append(t.Partitions, i)
			}
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) int16 {
			for _, p := range x.(*kmsg.DescribeProducersResponse).Topics[0].Partitions {
				if p.ErrorCode != 0 {
					return p.ErrorCode
				}
			}
			return 0
		},
	})
	if trouble != "" {
		r.fail("describe producers: %s", trouble)
	}
	for _, p := range x.(*kmsg.DescribeProducersResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			r.fail("describe producers: code %d", p.ErrorCode)
		}
		for _, a := range p.ActiveProducers {
			out[p.Partition].producers = append(out[p.Partition].producers, producer{
				a.ProducerID, a.ProducerEpoch, a.LastSequence, a.CoordinatorEpoch, a.CurrentTxnStartOffset,
			})
		}
		slices.SortStableFunc(out[p.Partition].producers, func(a, b producer) int { // by order of appearance
			return cmp.Or(cmp.Compare(slices.Index(r.pids, a.pid), slices.Index(r.pids, b.pid)), cmp.Compare(a.pid, b.pid))
		})
	}
}

// fetched reads what is new in some partitions, and tells whether that was all.
func (r *run) fetched(first, last int32, out []partition) bool {
	q := r.newFetch(false)
	for i := first; i < last; i++ {
		from := out[i].high
		if from == 0 && r.seen != nil {
			from = r.seen[i]
		}
		r.alsoFetch(q, i, from)
	}
	x, trouble := r.send(&request{to: target{leaderOf, "", first}, build: func() kmsg.Request { return q }, code: fetchCode})
	if trouble != "" || fetchCode(x) != 0 {
		r.fail("fetch: %s code %d", trouble, fetchCode(x))
	}
	whole := true
	for i := range x.(*kmsg.FetchResponse).Topics[0].Partitions {
		p := &x.(*kmsg.FetchResponse).Topics[0].Partitions[i]
		d := &out[p.Partition]
		d.start, d.stable, d.high = p.LogStartOffset, p.LastStableOffset, p.HighWatermark
		lines, end, err := r.batches(p.RecordBatches)
		if err != nil {
			r.fail("partition %d: %w", p.Partition, err)
		}
		d.batches = append(d.batches, lines...)
		if end >= 0 && end < d.high {
			whole, d.high = false, end
		}
	}
	return whole
}

// batches prints batches, one a line; end is the offset behind them, -1 if there are none.
func (r *run) batches(b []byte) (lines []string, end int64, err error) {
	end = -1
	it := kafka.ReadBatches(b)
	for it.Next() {
		h := it.Batch
		s := fmt.Sprintf("%d %s", h.BaseOffset, r.identity(h.ProducerID, int32(h.ProducerEpoch)))
		end = h.LastOffset + 1
		if h.Control {
			commit, ok := it.Marker()
			s += map[bool]string{true: " COMMIT", false: " ABORT"}[commit]
			if !ok {
				s += " that is none"
			}
			lines = append(lines, s)
			continue
		}
		if h.ProducerID >= 0 {
			s += fmt.Sprintf(" seq %d", h.BaseSequence)
		}
		if h.Transactional {
			s += " transactional"
		}
		for it.NextRecord() {
			s += " " + string(it.Record.Value)
		}
		lines = append(lines, s)
	}
	return lines, end, it.Err()
}

// offsets reads the group, stable, and where that says "pending" what is below.
func (r *run) offsets() []string {
	read := func(stable bool) *kmsg.OffsetFetchResponse {
		x, trouble := r.send(r.offsetFetchRequest(stable, false))
		if trouble != "" {
			r.fail("offset fetch: %s", trouble)
		}
		return x.(*kmsg.OffsetFetchResponse)
	}
	x := read(true)
	if x.ErrorCode != 0 {
		return []string{"code " + code(x.ErrorCode)}
	}
	lanes := r.lanes(x)
	pending := slices.ContainsFunc(lanes, func(l string) bool { return strings.Contains(l, ":") })
	if !pending {
		return lanes
	}
	below := r.lanes(read(false))
	for i := range lanes {
		if strings.Contains(lanes[i], ":") && i < len(below) {
			_, value, _ := strings.Cut(below[i], "=")
			lanes[i] += ":over:" + value
		}
	}
	return lanes
}

// rest is what all readers see in the end.
func (r *run) rest() (lines []string) {
	for i := range r.seq.Partitions {
		for _, committed := range []bool{false, true} {
			for _, l := range r.again(r.fetchRequest(i, committed, r.view.parts[i].start)) {
				lines = append(lines, fmt.Sprintf(ending+"%d: %s: %s", i, map[bool]string{true: "committed", false: "uncommitted"}[committed], l))
			}
		}
	}
	return lines
}
