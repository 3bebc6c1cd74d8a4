package sink

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/script"
	"github.com/onefold/onefold/engine/token"
)

// Effect is one thing that a script asks for. It prints itself in one line.
type Effect interface{ String() string }

// Fact is the answer to an effect; its type belongs to the effect's.
type Fact any

// Ask performs an effect.
type Ask = script.Ask[Effect, Fact]

// Lane names one lane: the group of a sink and a partition of the marker topic.
type Lane struct {
	Sink      id.Operator
	Partition int32
}

func (l Lane) String() string { return fmt.Sprintf("%s#%d", l.Sink, l.Partition) }

// Place is where one range is asked for: the second witness's question.
type Place struct {
	id.TopicPartition
	ProducerID int64
	First      int64
	Last       int64
}

func (p Place) String() string {
	return fmt.Sprintf("%v@%d pid=%d", p.TopicPartition, p.First, p.ProducerID)
}

// The effects. Those with an Err in their fact are repeated by the driver until a deadline; those that say "once" are tried
// once, since their repetition is the script's decision.
type (
	// Sleep waits. Its fact is Slept.
	Sleep struct {
		For time.Duration
		Why string
	}
	// EnsureMarkers makes the marker topic large enough and waits until every broker knows every partition. Fact: Done.
	EnsureMarkers struct {
		Topic      string
		Partitions int32
	}
	// Describe asks the coordinators of ids, in that order. Fact: Described.
	Describe struct{ IDs []string }
	// Look asks partitions for their producers and, if told, their log starts, and lanes for their values under
	// RequireStable. A partition where a transaction of Ended is not open, and its end is not on all replicas in sync, has
	// not told: NotEnoughReplicasAfter. Fact: Seen, in the order asked.
	Look struct {
		Partitions []id.TopicPartition
		Lanes      []Lane
		LogStarts  bool
		Ended      []Place
	}
	// LookOffsets asks the partition of __consumer_offsets that holds a sink's group for its producers. Fact: Seen with one
	// partition.
	LookOffsets struct{ Sink id.Operator }
	// AskWitness fetches once per place. Fact: Witnessed, in the order asked.
	AskWitness struct{ Places []Place }
	// FindMarker reads on uncommitted from a place's last offset to the first control record of its producer id. Fact:
	// MarkerFound.
	FindMarker struct{ Place Place }
	// FindRecords reads on uncommitted after a place's last offset, to the end, for records of its producer id. Fact:
	// RecordsFound.
	FindRecords struct{ Place Place }
	// Initialise initialises a transactional id, repeated while it is concurrent. Fact: Initialised.
	Initialise struct {
		ID      string
		Timeout time.Duration
	}
	// EndTxn ends a transaction; repeated while the outcome is open, unless Once. Fact: Ended.
	EndTxn struct {
		Who    kafka.Identity
		Commit bool
		Once   bool
	}
	// WriteMarker writes an end marker at one partition, once. Fact: Answered.
	WriteMarker struct{ kafka.MarkerWrite }
	// RepairPartitions adds partitions and ends in one write, once. Fact: Answered.
	RepairPartitions struct {
		Who        kafka.Identity
		Partitions []id.TopicPartition
		Commit     bool
	}
	// RepairLane adds the offsets of a sink's group and ends in one write, once. Fact: Answered.
	RepairLane struct {
		Who    kafka.Identity
		Sink   id.Operator
		Commit bool
	}
	// ReadRange reads a range uncommitted and sums it. Fact: RangeRead.
	ReadRange struct {
		Token token.Token
		Range int
	}
	// Replay reads a range and appends its records to the salvage's transaction. Fact: RangeRead.
	Replay struct {
		Who   kafka.Identity
		Token token.Token
		Range int
	}
	// FlushReplay waits until everything replayed is acknowledged. Fact: Flushed.
	FlushReplay struct{ Who kafka.Identity }
	// Mark writes markers inside the transaction of an identity. Fact: Answered.
	Mark struct {
		Who   kafka.Identity
		Sink  id.Operator
		Marks []kafka.Offset
	}
	// ListIDs asks every broker for all transactional ids. Fact: IDsListed, filtered by nobody.
	ListIDs struct{}
	// ListPartitions asks for all partitions of topics. Fact: PartitionsListed.
	ListPartitions struct{ Topics []string }
	// AppendEntry appends to the job log. Fact: Appended.
	AppendEntry struct{ Entry joblog.Entry }
	// Pass passes a hook. Fact: Done.
	Pass struct {
		Point      hook.Point
		Checkpoint id.Checkpoint
	}
	// Reach reaches a probe. Fact: Done.
	Reach struct{ Probe probe.Probe }
	// Say tells people something. Fact: Done.
	Say struct{ Text string }
)

// The facts. In each an Err is what was left after the last try.
type (
	// Done says no more than that.
	Done struct{ Err error }
	// Slept tells the time after a Sleep.
	Slept struct{ Now env.Instant }
	// Described has one transaction per id; one that is not known has no State.
	Described struct {
		Transactions []kafka.Transaction
		Err          error
	}
	// Seen is what partitions and lanes say, all at the instant Now or later than the question.
	Seen struct {
		Producers []kafka.PartitionProducers
		LogStarts []int64 // -1: not known
		Lanes     []LaneValue
		Now       env.Instant
		Err       error
	}
	// Witnessed has one answer per place.
	Witnessed struct{ Answers []WitnessAnswer }
	// MarkerFound is the verdict of the marker; WitnessUndecided: there is none yet.
	MarkerFound struct{ Witness Witness }
	// RecordsFound has the first offset of each run of one producer epoch.
	RecordsFound struct {
		Firsts []int64
		Err    error
	}
	// Initialised has the identity that may write from now on.
	Initialised struct {
		Who  kafka.Identity
		Code kafka.Code
		Err  error
	}
	// Ended is the answer to EndTxn and what it asks for.
	Ended struct {
		Class EndClass
		Code  kafka.Code
		Who   kafka.Identity // afterwards
		Err   error
	}
	// Answered is Kafka's answer to one try.
	Answered struct {
		Code kafka.Code
		Err  error
	}
	// RangeRead sums the records that were read back.
	RangeRead struct {
		kafka.RangeSum
		Err  error
		Gone bool // the records are not there: an error that no repetition helps
	}
	// Flushed says that everything replayed is acknowledged.
	Flushed struct {
		Ranges []token.Range // what the replay wrote
		Err    error
	}
	// IDsListed has every transactional id of the cluster, sorted.
	IDsListed struct {
		IDs []kafka.ListedTransaction
		Err error
	}
	// PartitionsListed has every partition of the topics, sorted.
	PartitionsListed struct {
		Partitions []id.TopicPartition
		Err        error
	}
	// Appended has the fold of the job log after the entry.
	Appended struct {
		State joblog.State
		Err   error
	}
)

func (e Sleep) String() string { return fmt.Sprintf("sleep %v: %s", e.For, e.Why) }
func (e EnsureMarkers) String() string {
	return fmt.Sprintf("ensure %s with %d partitions", e.Topic, e.Partitions)
}
func (e Describe) String() string { return fmt.Sprintf("describe %v", e.IDs) }
func (e Look) String() string {
	s := fmt.Sprintf("look partitions=%v lanes=%v", e.Partitions, e.Lanes)
	if e.LogStarts {
		s += " log-starts"
	}
	return s
}
func (e LookOffsets) String() string { return fmt.Sprintf("look offsets partition of %s", e.Sink) }
func (e AskWitness) String() string  { return fmt.Sprintf("witness %v", e.Places) }
func (e FindMarker) String() string  { return fmt.Sprintf("find marker after %v", e.Place) }
func (e FindRecords) String() string { return fmt.Sprintf("find records after %v", e.Place) }
func (e Initialise) String() string  { return fmt.Sprintf("initialise %s timeout=%v", e.ID, e.Timeout) }

func (e EndTxn) String() string {
	s := fmt.Sprintf("end %s %s", who(e.Who), verb(e.Commit))
	if e.Once {
		s += " once"
	}
	return s
}

func (e WriteMarker) String() string {
	return fmt.Sprintf("write-marker %v pid=%d epoch=%d %s coordinator-epoch=%d", e.Partitions, e.ProducerID, e.ProducerEpoch, verb(e.Commit), e.CoordinatorEpoch)
}

func (e RepairPartitions) String() string {
	return fmt.Sprintf("add-and-end %s %v %s", who(e.Who), e.Partitions, verb(e.Commit))
}

func (e RepairLane) String() string {
	return fmt.Sprintf("add-offsets-and-end %s %s %s", who(e.Who), e.Sink, verb(e.Commit))
}
func (e ReadRange) String() string { return fmt.Sprintf("read %s", rangeText(e.Token, e.Range)) }
func (e Replay) String() string {
	return fmt.Sprintf("replay %s under %s", rangeText(e.Token, e.Range), who(e.Who))
}
func (e FlushReplay) String() string { return fmt.Sprintf("flush replay %s", who(e.Who)) }
func (e Mark) String() string {
	s := fmt.Sprintf("mark %s", who(e.Who))
	for _, m := range e.Marks {
		s += fmt.Sprintf(" %s#%d=%d %q", e.Sink, m.Partition, m.Offset, m.Metadata)
	}
	return s
}
func (e ListIDs) String() string        { return "list ids" }
func (e ListPartitions) String() string { return fmt.Sprintf("list partitions of %v", e.Topics) }
func (e AppendEntry) String() string {
	s := fmt.Sprintf("append %s", e.Entry.Kind)
	if e.Entry.Checkpoint > 0 {
		s += fmt.Sprintf(" ckpt=%d", e.Entry.Checkpoint)
	}
	if e.Entry.Fenced > 0 {
		s += fmt.Sprintf(" fenced=%d", e.Entry.Fenced)
	}
	if e.Entry.Loss != nil {
		s += fmt.Sprintf(" accepted=%v", e.Entry.Loss.Accepted)
		for _, i := range e.Entry.Loss.Items {
			s += fmt.Sprintf(" [%s/%d %s/%d:%d-%d x%d: %s]", i.Token.Sink, i.Token.Subtask, i.Range.Topic, i.Range.Partition, i.Range.First, i.Range.Last, i.Range.Count, i.Reason)
		}
	}
	return s
}
func (e Pass) String() string  { return fmt.Sprintf("hook %v ckpt=%d", e.Point, e.Checkpoint) }
func (e Reach) String() string { return fmt.Sprintf("probe %s", e.Probe.Name()) }
func (e Say) String() string   { return "say " + e.Text }

func who(i kafka.Identity) string {
	return fmt.Sprintf("%s pid=%d epoch=%d v%d", i.TransactionalID, i.ProducerID, i.ProducerEpoch, i.Protocol)
}

func verb(commit bool) string {
	if commit {
		return "commit"
	}
	return "abort"
}

func rangeText(t token.Token, i int) string {
	r := t.Ranges[i]
	return fmt.Sprintf("%s/%d:%d-%d pid=%d epoch=%d", r.Topic, r.Partition, r.First, r.Last, t.ProducerID, t.ProducerEpoch)
}

// Identity is the frozen identity of a token.
func Identity(t token.Token) kafka.Identity {
	return kafka.Identity{TransactionalID: t.TransactionalID, ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch, Protocol: t.EndTxnVersion}
}

// get performs an effect and asserts the type of its fact.
func get[F any](ask Ask, e Effect) F { return ask(e).(F) }
