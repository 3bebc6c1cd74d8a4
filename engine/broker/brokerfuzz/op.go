package brokerfuzz

import "time"

// Sequence is what some producers do, one operation after the other.
type Sequence struct {
	Comment    string // of one line; may be empty
	Partitions int32
	Producers  []Producer
	Ops        []Op
}

// Producer is an actor. Several may have the same transactional id.
type Producer struct {
	Name     string
	ID       string // of the sequence's own; empty: idempotent only
	Protocol int16  // 3, 4 or 5
	Timeout  time.Duration
}

// Op is one operation. Which fields count is said by its kind.
type Op struct {
	Kind      Kind
	Producer  string
	Partition int32
	Sequence  string // of produce
	Form      string // of produce
	Records   int    // of produce
	As        string // which identity
	Verdict   string // of end and marker
	Isolation string
	At        string // a place in a log
	Mode      string // of offset-fetch
	All       string // of offset-fetch
	Unknown   string // of add
	Term      string // of the coordinator of a marker
	Back      int    // of repeat
	Protocol  int16  // 0: the producer's
}

// Kind is the first word of an operation.
type Kind string

// The kinds of operation.
const (
	Init            Kind = "init"
	Add             Kind = "add"
	Offsets         Kind = "offsets"
	Produce         Kind = "produce"
	Mark            Kind = "mark"
	Commit          Kind = "commit"
	End             Kind = "end"
	Repeat          Kind = "repeat"
	Wait            Kind = "wait"
	Restart         Kind = "restart"
	DeleteRecords   Kind = "delete-records"
	Fetch           Kind = "fetch"
	ListOffsets     Kind = "list-offsets"
	OffsetFetch     Kind = "offset-fetch"
	Describe        Kind = "describe"
	List            Kind = "list"
	Producers       Kind = "producers"
	Marker          Kind = "marker"
	DeleteGroup     Kind = "delete-group"
	DeleteOffset    Kind = "delete-offset"
	MoveLeader      Kind = "move-leader"
	MoveCoordinator Kind = "move-coordinator"
)

// Words that stand for the field's usual value and are not printed.
const (
	current       = "current"
	transactional = "transactional"
	same          = "same"
)

// shape says which words follow a kind: fields by position, and then pairs of a name and a field, or one bare word, that
// may be missing.
type shape struct {
	kind   Kind
	fixed  []*field
	option []*field
}

var shapes = []shape{
	{Init, []*field{fProducer}, []*field{fExpect, fProtocol}},
	{Add, []*field{fProducer, fPartition}, []*field{fUnknown, fAs, fProtocol}},
	{Offsets, []*field{fProducer}, []*field{fAs, fProtocol}},
	{Produce, []*field{fProducer, fPartition, fSequence}, []*field{fForm, fAs, fRecords, fProtocol}},
	{Mark, []*field{fProducer, fPartition}, []*field{fAs, fProtocol}},
	{Commit, []*field{fPartition}, nil},
	{End, []*field{fProducer, fVerdict}, []*field{fAs, fProtocol}},
	{Repeat, []*field{fBack}, nil},
	{Wait, nil, nil},
	{Restart, []*field{fProducer}, nil},
	{DeleteRecords, []*field{fPartition, fDeleteAt}, nil},
	{Fetch, []*field{fPartition, fIsolation, fFetchAt}, nil},
	{ListOffsets, []*field{fPartition, fIsolation, fListAt}, nil},
	{OffsetFetch, []*field{fMode}, []*field{fAll}},
	{Describe, []*field{fProducer}, nil},
	{List, []*field{fProducer}, nil},
	{Producers, []*field{fPartition}, nil},
	{Marker, []*field{fProducer, fPartition, fVerdict}, []*field{fAs, fTerm, fProtocol}},
	{DeleteGroup, nil, nil},
	{DeleteOffset, []*field{fPartition}, nil},
	{MoveLeader, []*field{fPartition}, nil},
	{MoveCoordinator, []*field{fProducer}, nil},
}

func shapeOf(k Kind) *shape {
	for i := range shapes {
		if shapes[i].kind == k {
			return &shapes[i]
		}
	}
	return nil
}

// changes tells whether an operation can change what is seen; others only ask.
func (o *Op) changes() bool {
	switch o.Kind {
	case Restart, Fetch, ListOffsets, OffsetFetch, Describe, List, Producers:
		return false
	}
	return true
}

// producer finds a producer by its name.
func (s *Sequence) producer(name string) *Producer {
	for i := range s.Producers {
		if s.Producers[i].Name == name {
			return &s.Producers[i]
		}
	}
	return nil
}

// Clone is a copy that shares nothing.
func (s Sequence) Clone() Sequence {
	s.Producers = append([]Producer(nil), s.Producers...)
	s.Ops = append([]Op(nil), s.Ops...)
	return s
}

// Kinds are all kinds of operation.
func Kinds() []Kind {
	var out []Kind
	for i := range shapes {
		out = append(out, shapes[i].kind)
	}
	return out
}
