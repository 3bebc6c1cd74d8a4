package checker

import (
	"fmt"
	"slices"
)

// judge is one Check under way.
type judge struct {
	*index
	o        Oracle
	opts     Options
	findings []Finding
	compared Compared
	views    []view
	outputs  []int16 // topics
	truth    []tally // per output: how often each input is visible by the broker's truth
	wants    []bitset
	claims   claims
	txns     []transaction // of the output topics
	txnAt    map[identity]int
	property *property // the one being judged
}

// view is what one reader saw of one output topic.
type view struct {
	reader, topic int16
	parts         []bucket // per partition, in the reader's order: indexes into h.Reads
	final         bool
	tally         tally
}

// tally counts, per input, how many outputs name it, and keeps the first of those that name an input that is not there.
type tally struct {
	counts  []int32 // by ordinal
	strange []int32 // indexes of reads or records that name unknown or invisible inputs
	named   int
}

type bitset []uint64

func (b bitset) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }

// Check judges a history. It never changes it.
func Check(h *History, o Oracle, opts Options) Report {
	if why := h.malformed(); why != "" {
		f := Finding{Verdict: Vacuous, Property: "evidence", Detail: why, Count: 1}
		return Report{Verdict: Vacuous, Verdicts: []Verdict{Vacuous}, Findings: []Finding{f}}
	}
	j := &judge{index: newIndex(h), o: o, opts: opts}
	j.prepare()
	for i := range properties {
		if j.property = &properties[i]; !slices.Contains(opts.Without, j.property.name) {
			j.property.judge(j)
		}
	}
	return j.report()
}

// malformed says what in the history cannot be: an index of a topic, partition or reader that it does not have.
func (h *History) malformed() string {
	ok := func(topic int16, partition int32) bool {
		return topic >= 0 && int(topic) < len(h.Topics) && partition >= 0 && partition < h.Topics[topic].Partitions
	}
	for i := range h.Records {
		if r := &h.Records[i]; !ok(r.Topic, r.Partition) {
			return fmt.Sprintf("record %d is of partition %d of topic %d, which is not there", i, r.Partition, r.Topic)
		}
	}
	for i := range h.Reads {
		if r := &h.Reads[i]; !ok(r.Topic, r.Partition) || r.Reader < 0 || int(r.Reader) >= len(h.Readers) {
			return fmt.Sprintf("read %d is of reader %d, partition %d of topic %d, which is not there", i, r.Reader, r.Partition, r.Topic)
		}
	}
	for _, p := range h.Partitions {
		if !ok(p.Topic, p.Partition) {
			return fmt.Sprintf("partition %d of topic %d is not there", p.Partition, p.Topic)
		}
	}
	for _, c := range h.Controls {
		if !ok(c.Topic, c.Partition) {
			return fmt.Sprintf("a control record is of partition %d of topic %d, which is not there", c.Partition, c.Topic)
		}
	}
	for _, t := range h.Transactions {
		if !ok(t.Topic, t.Partition) {
			return fmt.Sprintf("an open transaction is of partition %d of topic %d, which is not there", t.Partition, t.Topic)
		}
	}
	for _, c := range h.Claims {
		for _, p := range c.Positions {
			if !ok(p.Topic, p.Partition) {
				return fmt.Sprintf("a claim is about partition %d of topic %d, which is not there", p.Partition, p.Topic)
			}
		}
		for _, l := range c.Lost {
			if !ok(l.Topic, l.Partition) {
				return fmt.Sprintf("a loss is of partition %d of topic %d, which is not there", l.Partition, l.Topic)
			}
		}
	}
	return ""
}

// prepare computes what several properties look at.
func (j *judge) prepare() {
	h := j.h
	for t := range h.Topics {
		if h.Topics[t].Role == Output {
			j.outputs = append(j.outputs, int16(t))
		}
	}
	parts := len(j.records)
	byReader := buckets(len(h.Readers)*parts, len(h.Reads), func(i int) int {
		r := &h.Reads[i]
		return int(r.Reader)*parts + j.part(r.Topic, r.Partition)
	})
	for r := range h.Readers {
		for _, t := range j.outputs {
			from := r*parts + int(j.base[t])
			v := view{reader: int16(r), topic: t, final: h.Readers[r].Final, parts: byReader[from : from+int(h.Topics[t].Partitions)]}
			v.tally = j.newTally()
			for _, b := range v.parts {
				for _, i := range b {
					j.count(&v.tally, i, &h.Reads[i].Event)
				}
			}
			j.compared.Records += v.tally.named
			j.views = append(j.views, v)
		}
	}
	for _, t := range j.outputs {
		tl := j.newTally()
		for p := j.base[t]; p < j.base[t+1]; p++ {
			for _, i := range j.records[p] {
				if r := &h.Records[i]; visible(r.Outcome) {
					j.count(&tl, i, &r.Event)
				}
			}
		}
		j.truth = append(j.truth, tl)
		j.wants = append(j.wants, j.wanted(t))
	}
	j.claims.fold(h)
	j.compared.Epochs = j.claims.confirmedCount
	j.txns = j.transactions()
	j.compared.Transactions = len(j.txns)
}

func (j *judge) newTally() tally { return tally{counts: make([]int32, len(j.inputs))} }

// count adds what one output names. Of several inputs with the same number the k-th output that names the number takes
// the k-th; what is too much stays with the last.
func (j *judge) count(t *tally, i int32, e *Event) {
	for _, s := range j.h.Sources(e) {
		o := j.resolve(s)
		if o == none || !visible(j.input(o).Outcome) {
			t.strange = append(t.strange, i)
			continue
		}
		if s.Partition == Numbered {
			for t.counts[o] > 0 && j.next[o] != none {
				o = j.next[o]
			}
		}
		t.counts[o]++
		t.named++
	}
}

// wanted asks the oracle which inputs the output topic must name.
func (j *judge) wanted(output int16) bitset {
	b := make(bitset, (len(j.inputs)+63)/64)
	for o := range j.inputs {
		if in := j.input(int32(o)); visible(in.Outcome) && j.o.Wants(j.h, output, in) {
			b.set(o)
		}
	}
	return b
}

// find adds a finding of the property being judged.
func (j *judge) find(f Finding) {
	f.Property = j.property.name
	if f.Verdict == Clean {
		f.Verdict = j.property.verdict
	}
	if f.Count == 0 {
		f.Count = 1
	}
	j.findings = append(j.findings, f)
}

// maxEvidence is how many lines of evidence a finding keeps; Count says how many there are.
const maxEvidence = 5

func (f *Finding) evidence(format string, args ...any) {
	f.Count++
	if len(f.Evidence) < maxEvidence {
		f.Evidence = append(f.Evidence, fmt.Sprintf(format, args...))
	}
}

// settle adds a finding that has evidence; its detail is how many there are, and the first.
func (j *judge) settle(f *Finding, what string) {
	if f.Count > 0 {
		f.Detail = fmt.Sprintf("%d %s; first: %s", f.Count, what, f.Evidence[0])
		if f.Place != "" {
			f.Detail = f.Place + ": " + f.Detail
		}
		j.find(*f)
	}
}

func (j *judge) report() Report {
	slices.SortStableFunc(j.findings, func(a, b Finding) int { return a.Verdict.Severity() - b.Verdict.Severity() })
	r := Report{Findings: j.findings, Compared: j.compared, Verdict: Clean}
	for _, f := range j.findings {
		if !slices.Contains(r.Verdicts, f.Verdict) {
			r.Verdicts = append(r.Verdicts, f.Verdict)
		}
	}
	if len(r.Verdicts) == 0 {
		r.Verdicts = []Verdict{Clean}
	}
	r.Verdict = r.Verdicts[0]
	return r
}
