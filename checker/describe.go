package checker

import (
	"fmt"
	"time"
)

var outcomeNames = [...]string{"plain", "committed", "aborted", "open"}

func (o Outcome) String() string { return outcomeNames[o] }

func (x *index) where(topic int16, partition int32, offset int64) string {
	return fmt.Sprintf("%s/%d@%d", x.h.Topics[topic].Name, partition, offset)
}

func (x *index) describeSource(s Source) string {
	name := fmt.Sprintf("topic %d", s.Topic)
	if s.Topic >= 0 && int(s.Topic) < len(x.h.Topics) {
		name = x.h.Topics[s.Topic].Name
	}
	if s.Partition == Numbered {
		return fmt.Sprintf("%s#%d", name, s.Offset)
	}
	return fmt.Sprintf("%s/%d@%d", name, s.Partition, s.Offset)
}

func (x *index) describeInput(r *Record) string {
	s := "input " + x.where(r.Topic, r.Partition, r.Offset)
	if r.Number >= 0 {
		s += fmt.Sprintf(" (number %d)", r.Number)
	}
	if r.Key >= 0 {
		s += fmt.Sprintf(" key %q", x.h.KeyName(r.Key))
	}
	return s
}

func (x *index) describeEvent(e *Event) string {
	s := ""
	for i, src := range x.h.Sources(e) {
		if i == 4 {
			s += fmt.Sprintf(" and %d more", int(e.nsrc)-i)
			break
		}
		s += " " + x.describeSource(src)
	}
	if s = "from" + s; e.nsrc == 0 {
		s = "from nothing"
	}
	if e.Key >= 0 {
		s += fmt.Sprintf(" key %q", x.h.KeyName(e.Key))
	}
	if e.Sequence != 0 {
		s += fmt.Sprintf(" sequence %d", e.Sequence)
	}
	return s + fmt.Sprintf(" values %v", e.Values)
}

func (x *index) describeRecord(r *Record) string {
	s := x.where(r.Topic, r.Partition, r.Offset)
	if r.ProducerID >= 0 {
		s += fmt.Sprintf(" (producer %d epoch %d, %s)", r.ProducerID, r.ProducerEpoch, r.Outcome)
	}
	return s + " " + x.describeEvent(&r.Event)
}

func (x *index) describeRead(r *Read) string {
	s := fmt.Sprintf("%s at %s", x.where(r.Topic, r.Partition, r.Offset), time.Duration(r.At))
	if t := x.record(r.Topic, r.Partition, r.Offset); t != nil && t.ProducerID >= 0 {
		s += fmt.Sprintf(" (producer %d epoch %d)", t.ProducerID, t.ProducerEpoch)
	}
	return s + " " + x.describeEvent(&r.Event)
}
