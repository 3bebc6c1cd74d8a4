package kafka

// stamp is what is known of a topic's timestamps. The first acknowledgement tells it; until then sums are folded both
// ways.
type stamp uint8

const (
	unknownTime stamp = iota
	createTime
	logAppendTime
)

// stamps is the last known type per topic.
type stamps struct {
	topics []string
	types  []stamp
}

func (s *stamps) of(topic string) stamp {
	for i, t := range s.topics {
		if t == topic {
			return s.types[i]
		}
	}
	return unknownTime
}

func (s *stamps) set(topic string, to stamp) {
	for i, t := range s.topics {
		if t == topic {
			s.types[i] = to
			return
		}
	}
	s.topics, s.types = append(s.topics, topic), append(s.types, to)
}
