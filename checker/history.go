package checker

// Role is what a topic is to the job.
type Role uint8

// The roles.
const (
	Input Role = iota
	Output
)

// Topic is one topic of the job. The others refer to it by its index in History.Topics.
type Topic struct {
	Name       string
	Role       Role
	Partitions int32
}

// Outcome is what the broker's truth says of a data record.
type Outcome uint8

// The outcomes.
const (
	Plain     Outcome = iota // not transactional: visible
	Committed                // its transaction's end marker on this partition is COMMIT
	Aborted                  // ... is ABORT
	Open                     // no end marker yet
)

// Source names one input record. Partition Numbered means that Offset is the record's own number (Event.Number), for
// jobs whose outputs carry a sequence number instead of partition and offset.
type Source struct {
	Topic     int16
	Partition int32
	Offset    int64
}

// Numbered is the Partition of a Source that names its input by number.
const Numbered int32 = -1

// NoKey is the Key of an event whose order does not matter.
const NoKey int32 = -1

// Values are the numbers of a record that the reference fold works on and compares.
type Values [4]int64

// Event is what an oracle makes of one record. Of an input: Number, Key, Values. Of an output: Key (the one within which
// order holds; not necessarily Kafka's), Sequence, Values and the inputs that this output consumes.
type Event struct {
	Undecoded bool  // the oracle could not read it
	Key       int32 // from History.Key; NoKey for none
	Number    int64 // an input's own sequence number; -1 for none
	Sequence  int64 // an output's number within its key, rising; 0 for none
	Values    Values
	src, nsrc int32 // range in History.sources
}

// Record is a data record as the broker has it in the end: every one that is still in the log of an input or output
// topic, aborted ones too.
type Record struct {
	Topic         int16
	Outcome       Outcome
	ProducerEpoch int16
	Partition     int32
	Offset        int64
	ProducerID    int64 // -1 without
	Event
}

// Read is one record as a reader saw it. Reads of one reader stand in the order in which it saw them.
type Read struct {
	Reader    int16
	Topic     int16
	Partition int32
	Offset    int64
	At        int64 // nanoseconds since the run began
	Event
}

// Reader is one read_committed reader of the output topics. Final: it read on until nothing more could come.
type Reader struct {
	Name  string
	Final bool
}

// Control is a control record in a partition.
type Control struct {
	Topic         int16
	Partition     int32
	Offset        int64
	ProducerID    int64
	ProducerEpoch int16
	Commit        bool
}

// Partition is the broker's truth about one partition at the end.
type Partition struct {
	Topic     int16
	Partition int32
	Start     int64 // log start offset
	Stable    int64 // last stable offset
	High      int64 // high watermark
	Compacted bool  // offsets may be missing
}

// OpenTransaction is one that a partition shows as open at the end. Owner names the living node that will end it.
type OpenTransaction struct {
	Topic         int16
	Partition     int32
	ProducerID    int64
	ProducerEpoch int16
	First         int64 // its first offset
	Owner         string
}

// Effect is one effect outside of Kafka that a run recorded, and the input that caused it.
type Effect struct {
	Source
	Name string
}

// ClaimKind says what the engine claims.
type ClaimKind uint8

// The kinds of claims, in the order of the job log.
const (
	GenerationClaimed   ClaimKind = iota // Generation
	CheckpointCompleted                  // Generation, Checkpoint, Positions, Transactions
	CheckpointConfirmed                  // Generation, Checkpoint
	CheckpointAbandoned                  // Generation, Checkpoint: none of it is visible
	RewoundTo                            // Checkpoint: the user asked for a repeat
	Loss                                 // Checkpoint, Lost, Inputs: loud loss
	Ended                                // the bounded job has ended
	Restarted                            // Checkpoint it restarts from, Reason
	LateDropped                          // Inputs: dropped because they were late
)

// Claim is one thing that the engine says of itself. Claims stand in the order in which they were made.
type Claim struct {
	Kind         ClaimKind
	Generation   uint64
	Checkpoint   uint64
	At           int64
	Positions    []Position    // of every input partition: the first offset that the checkpoint does not contain
	Transactions []Transaction // that the checkpoint's completion decided to commit
	Lost         []LostRange
	Inputs       []Span
	Reason       string
}

// Position is a place in an input partition.
type Position struct {
	Topic     int16
	Partition int32
	Offset    int64
}

// Transaction is the identity under which a checkpoint's output was written.
type Transaction struct {
	Sink          string
	Subtask       int32
	ProducerID    int64
	ProducerEpoch int16
	State         string // of the token at the end, in words; part of a finding's signature
}

// LostRange is a range of output that the engine gave up.
type LostRange struct {
	Topic         int16
	Partition     int32
	First, Last   int64 // offsets
	Count         int64 // data records in it
	ProducerID    int64
	ProducerEpoch int16
}

// Span is a range of inputs: from From up to, not including, To.
type Span struct {
	Topic     int16
	Partition int32
	From, To  int64
}

// Run is what the world that ran the job knows about the run as a whole.
type Run struct {
	Settled         bool   // everything came to rest within the bound
	Waits           string // what it waited for when it did not
	Panic           string // an invariant of the engine that failed, or a panic
	Refused         string // why the configuration was not accepted
	Hashes          []uint64
	LongestUnstable int64 // in nanoseconds: longest time in a healthy stretch that a last stable offset stood still below the high watermark
}

// History is all the evidence about one run. Fill it through its methods; slices may be read, not reordered.
type History struct {
	Run     Run
	Topics  []Topic
	Readers []Reader

	Records      []Record // input and output topics, in any order
	Controls     []Control
	Partitions   []Partition
	Transactions []OpenTransaction
	Reads        []Read
	Effects      []Effect
	Claims       []Claim

	JobLog []LogOperation         // for the linearizable model of the job log
	TxnLog []TransactionOperation // for the sequential model of transactions

	sources []Source
	keys    []string
	keyIDs  map[string]int32
	event   Event // that is being decoded
}

// NewHistory returns an empty one.
func NewHistory() *History {
	return &History{keyIDs: map[string]int32{}, Run: Run{Settled: true}}
}

// AddTopic adds a topic and returns its index.
func (h *History) AddTopic(name string, role Role, partitions int32) int16 {
	h.Topics = append(h.Topics, Topic{name, role, partitions})
	return int16(len(h.Topics) - 1)
}

// TopicIndex is the index of the topic, -1 if it is none of the job's.
func (h *History) TopicIndex(name string) int16 {
	for i := range h.Topics {
		if h.Topics[i].Name == name {
			return int16(i)
		}
	}
	return -1
}

// AddReader adds a reader and returns its index.
func (h *History) AddReader(name string, final bool) int16 {
	h.Readers = append(h.Readers, Reader{name, final})
	return int16(len(h.Readers) - 1)
}

// Key gives a key its number. It does not keep b.
func (h *History) Key(b []byte) int32 {
	if k, ok := h.keyIDs[string(b)]; ok {
		return k
	}
	k := int32(len(h.keys))
	h.keys = append(h.keys, string(b))
	h.keyIDs[h.keys[k]] = k
	return k
}

// KeyName is the key that has the number k.
func (h *History) KeyName(k int32) string {
	if k < 0 || int(k) >= len(h.keys) {
		return ""
	}
	return h.keys[k]
}

// Source adds an input to the event that is being made: call it once for each, before the event is appended, and for no
// other event in between.
func (h *History) Source(e *Event, s Source) {
	if e.nsrc == 0 {
		e.src = int32(len(h.sources))
	}
	h.sources = append(h.sources, s)
	e.nsrc++
}

// Sources are the inputs that an output names.
func (h *History) Sources(e *Event) []Source { return h.sources[e.src : e.src+e.nsrc] }

// Decode lets the oracle read one record of a topic and returns the event, to be put into a Record or a Read. An output
// record whose event was decoded before (the broker's copy of what a reader saw) may share the Event.
func (h *History) Decode(o Oracle, topic int16, key, value []byte) Event {
	h.event = Event{Key: NoKey, Number: -1}
	if err := o.Decode(h, topic, key, value, &h.event); err != nil {
		return Event{Undecoded: true, Key: NoKey, Number: -1}
	}
	return h.event
}
