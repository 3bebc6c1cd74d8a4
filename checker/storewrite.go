package checker

import (
	"encoding/hex"
	"unicode/utf8"
)

// each gives every line of the stored form, in order.
func (h *History) each(put func(line) error) (err error) {
	add := func(l line) {
		if err == nil {
			err = put(l)
		}
	}
	r := h.Run
	add(line{Run: &runLine{r.Settled, r.Waits, r.Panic, r.Refused, r.Hashes, r.LongestUnstable}})
	for _, t := range h.Topics {
		add(line{Topic: &topicLine{t.Name, roleNames[t.Role], t.Partitions}})
	}
	for _, r := range h.Readers {
		add(line{Reader: &readerLine{r.Name, r.Final}})
	}
	for i := range h.Records {
		add(h.recordLine(&h.Records[i]))
	}
	for _, c := range h.Controls {
		add(line{Control: &controlLine{h.topic(c.Topic), c.Partition, c.Offset, c.ProducerID, c.ProducerEpoch, c.Commit}})
	}
	for _, p := range h.Partitions {
		add(line{Partition: &partitionLine{h.topic(p.Topic), p.Partition, p.Start, p.Stable, p.High, p.Compacted}})
	}
	for _, t := range h.Transactions {
		add(line{Open: &openLine{h.topic(t.Topic), t.Partition, t.ProducerID, t.ProducerEpoch, t.First, t.Owner}})
	}
	for i := range h.Reads {
		r := &h.Reads[i]
		add(line{Read: &readLine{h.Readers[r.Reader].Name, h.topic(r.Topic), r.Partition, r.Offset, r.At, h.eventLine(&r.Event)}})
	}
	for i := range h.Claims {
		add(line{Claim: h.claimLine(&h.Claims[i])})
	}
	for _, e := range h.Effects {
		add(line{Effect: &effectLine{e.Name, h.sourceText(e.Source)}})
	}
	for _, o := range h.JobLog {
		add(line{Log: &logLine{o.Client, o.Call, o.Return, logKindNames[o.Kind], o.Position, o.Nonce, logResultNames[o.Result]}})
	}
	for _, o := range h.TxnLog {
		add(line{Transaction: &txnLine{o.Client, o.Call, o.Return, o.ID, txnKindNames[o.Kind], o.ProducerID, o.ProducerEpoch, txnResultNames[o.Result]}})
	}
	return err
}

func (h *History) topic(t int16) string { return h.Topics[t].Name }

func (h *History) recordLine(r *Record) line {
	l := &recordLine{Topic: h.topic(r.Topic), Partition: r.Partition, Offset: r.Offset, Epoch: r.ProducerEpoch, eventLine: h.eventLine(&r.Event)}
	if r.Outcome != Plain {
		l.Outcome = r.Outcome.String()
	}
	if r.ProducerID >= 0 {
		l.Producer = &r.ProducerID
	}
	if h.Topics[r.Topic].Role == Input {
		return line{Produced: l}
	}
	return line{Broker: l}
}

func (h *History) eventLine(e *Event) eventLine {
	l := eventLine{Undecoded: e.Undecoded, Sequence: e.Sequence}
	if e.Key >= 0 {
		name := printable(h.KeyName(e.Key))
		l.Key = &name
	}
	if e.Number >= 0 {
		l.Number = &e.Number
	}
	if e.Values != (Values{}) {
		l.Values = &e.Values
	}
	for _, s := range h.Sources(e) {
		l.Sources = append(l.Sources, h.sourceText(s))
	}
	return l
}

// printable keeps a key that JSON would damage as hexadecimal digits; it stays a name of its own.
func printable(key string) string {
	if utf8.ValidString(key) {
		return key
	}
	return "0x" + hex.EncodeToString([]byte(key))
}

func (h *History) sourceText(s Source) string { return (&index{h: h}).describeSource(s) }

type claimLine struct {
	Kind         string        `json:"kind"`
	Generation   uint64        `json:"generation,omitempty"`
	Checkpoint   uint64        `json:"checkpoint,omitempty"`
	At           int64         `json:"at,omitempty"`
	Positions    []string      `json:"positions,omitempty"` // topic/partition@offset
	Transactions []claimedTxn  `json:"transactions,omitempty"`
	Lost         []claimedLoss `json:"lost,omitempty"`
	Inputs       []claimedSpan `json:"inputs,omitempty"`
	Reason       string        `json:"reason,omitempty"`
}

type claimedTxn struct {
	Sink     string `json:"sink"`
	Subtask  int32  `json:"subtask,omitempty"`
	Producer int64  `json:"producer"`
	Epoch    int16  `json:"epoch,omitempty"`
	State    string `json:"state,omitempty"`
}

type claimedLoss struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	First     int64  `json:"first"`
	Last      int64  `json:"last"`
	Count     int64  `json:"count"`
	Producer  int64  `json:"producer"`
	Epoch     int16  `json:"epoch,omitempty"`
}

type claimedSpan struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
}

func (h *History) claimLine(c *Claim) *claimLine {
	l := &claimLine{Kind: claimKindNames[c.Kind], Generation: c.Generation, Checkpoint: c.Checkpoint, At: c.At, Reason: c.Reason}
	for _, p := range c.Positions {
		l.Positions = append(l.Positions, h.sourceText(Source(p)))
	}
	for _, t := range c.Transactions {
		l.Transactions = append(l.Transactions, claimedTxn{t.Sink, t.Subtask, t.ProducerID, t.ProducerEpoch, t.State})
	}
	for _, x := range c.Lost {
		l.Lost = append(l.Lost, claimedLoss{h.topic(x.Topic), x.Partition, x.First, x.Last, x.Count, x.ProducerID, x.ProducerEpoch})
	}
	for _, s := range c.Inputs {
		l.Inputs = append(l.Inputs, claimedSpan{h.topic(s.Topic), s.Partition, s.From, s.To})
	}
	return l
}
