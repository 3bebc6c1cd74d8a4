package checker

// Oracle knows what the records of one job mean. It imports nothing of the engine.
type Oracle interface {
	// Decode reads one record of h.Topics[topic] into e: Number, Key and Values of an input; Key, Sequence, Values and
	// sources (through h.Source) of an output. It keeps neither key nor value.
	Decode(h *History, topic int16, key, value []byte, e *Event) error
	// Wants reports whether the input must be named by exactly one record of the output topic.
	Wants(h *History, output int16, in *Record) bool
	// Fold is the reference: it advances the state of one key of one output topic by the inputs that the output names, in
	// the order named, and says what the output's Values must be. It is called for the outputs of a key in the order of
	// their offsets; state starts as zero. Judged false: this job's values cannot be predicted here.
	Fold(h *History, output int16, state *Values, in []*Record, out *Event) (want Values, judged bool)
}
