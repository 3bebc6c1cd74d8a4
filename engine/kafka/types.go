package kafka

import (
	"time"

	"github.com/onefold/onefold/engine/id"
)

// Topic is what the cluster tells of one topic.
type Topic struct {
	Name       string
	ID         [16]byte
	Code       Code
	Partitions []Partition // ascending by number
}

// Partition is what the cluster tells of one partition.
type Partition struct {
	Number, Leader int32 // Leader -1: none at present
	LeaderEpoch    int32
	Replicas, ISR  []int32
	Code           Code
}

// Metadata is one broker's view of the cluster.
type Metadata struct {
	Brokers    []int32 // ascending
	Controller int32
	Topics     []Topic
}

// Features is what ApiVersions tells.
type Features struct {
	// TransactionVersion is the finalized feature transaction.version; 0 where the cluster has none.
	TransactionVersion int16
	// MaxVersions is the highest version per request key; -1 is unknown to the broker.
	MaxVersions []int16
}

// Max is the highest version that the broker knows of a request; -1 if it does not know the request.
func (f Features) Max(key int16) int16 {
	if int(key) >= len(f.MaxVersions) || key < 0 {
		return -1
	}
	return f.MaxVersions[key]
}

// Protocol is the generation of the transaction protocol to use: 5 on transaction.version 2, 4 below.
func (f Features) Protocol() int16 {
	if f.TransactionVersion >= 2 {
		return 5
	}
	return 4
}

// Offset is a committed offset of a group for one partition.
type Offset struct {
	Topic     string
	Partition int32
	Offset    int64 // -1: none
	Metadata  string
	Code      Code
}

// TxnState is the state of a transaction as DescribeTransactions names it.
type TxnState string

// The states a coordinator answers with.
const (
	TxnEmpty          TxnState = "Empty"
	TxnOngoing        TxnState = "Ongoing"
	TxnPrepareCommit  TxnState = "PrepareCommit"
	TxnPrepareAbort   TxnState = "PrepareAbort"
	TxnCompleteCommit TxnState = "CompleteCommit"
	TxnCompleteAbort  TxnState = "CompleteAbort"
)

// Transaction is what the transaction coordinator tells of one transactional id.
type Transaction struct {
	TransactionalID string
	State           TxnState
	ProducerID      int64
	ProducerEpoch   int16
	TimeoutMs       int32
	StartUnixMs     int64               // -1 when none is open
	Partitions      []id.TopicPartition // ascending; those whose marker is missing while it is being ended
}

// ListedTransaction is one line of ListTransactions.
type ListedTransaction struct {
	TransactionalID string
	ProducerID      int64
	State           TxnState
}

// ActiveProducer is one producer as a partition's leader knows it.
type ActiveProducer struct {
	ProducerID       int64
	ProducerEpoch    int32
	LastSequence     int32
	LastTimestamp    int64
	CoordinatorEpoch int32 // -1: none
	OpenFrom         int64 // first offset of its open transaction here; -1: none
}

// PartitionProducers is the answer of DescribeProducers for one partition.
type PartitionProducers struct {
	id.TopicPartition
	Code      Code
	Producers []ActiveProducer // ascending by producer id
}

// AbortedTxn is one entry of the aborted list of a fetch.
type AbortedTxn struct {
	ProducerID int64
	First      int64
}

// Fetched is the answer to one fetch of one partition.
type Fetched struct {
	HighWatermark, LastStable, LogStart int64
	Aborted                             []AbortedTxn
	Records                             []byte // whole and maybe one cut record batch; see Batches
}

// Isolation chooses what a read sees.
type Isolation int8

// The two isolation levels.
const (
	ReadUncommitted Isolation = 0
	ReadCommitted   Isolation = 1
)

// Symbolic timestamps of ListOffsets.
const (
	Latest   int64 = -1 // high watermark, or last stable offset with ReadCommitted
	Earliest int64 = -2
)

// ListedOffset is the answer of ListOffsets for one partition. Offset -1: no record at or after the timestamp.
type ListedOffset struct {
	id.TopicPartition
	Offset, Timestamp int64
	LeaderEpoch       int32
	Code              Code
}

// NewTopic describes a topic to create.
type NewTopic struct {
	Name        string
	Partitions  int32
	Replication int16 // -1: the cluster's default
	Configs     []ConfigEntry
}

// ConfigEntry is one configuration value.
type ConfigEntry struct{ Name, Value string }

// TopicConfigs are the settings of a topic that matter to a job. Invariant: a zero Known says that the broker did not
// answer for it.
type TopicConfigs struct {
	Topic   string
	Code    Code
	Entries []ConfigEntry // as the broker sent them
}

// Get is a setting by name; false when the broker did not tell it.
func (t TopicConfigs) Get(name string) (string, bool) {
	for _, e := range t.Entries {
		if e.Name == name {
			return e.Value, true
		}
	}
	return "", false
}

// LogAppendTime reports whether the broker overwrites timestamps.
func (t TopicConfigs) LogAppendTime() bool {
	v, _ := t.Get("message.timestamp.type")
	return v == "LogAppendTime"
}

// MarkerWrite is one request to write an end marker at partitions of one leader: the repair with cluster rights.
type MarkerWrite struct {
	ProducerID       int64
	ProducerEpoch    int16
	Commit           bool
	CoordinatorEpoch int32
	Partitions       []id.TopicPartition
}

// PartitionCode is the code for one partition.
type PartitionCode struct {
	id.TopicPartition
	Code Code
}

// retention and lag settings that an audit asks for by name.
const (
	ConfigTimestampType      = "message.timestamp.type"
	ConfigRetentionMs        = "retention.ms"
	ConfigRetentionBytes     = "retention.bytes"
	ConfigCleanupPolicy      = "cleanup.policy"
	ConfigMinCompactionLagMs = "min.compaction.lag.ms"
	ConfigMinInsyncReplicas  = "min.insync.replicas"
	ConfigUncleanElection    = "unclean.leader.election.enable"
)

const (
	defaultRequestTimeout = 10 * time.Second
	defaultReadTimeout    = 60 * time.Second
	defaultBackoffMin     = 50 * time.Millisecond
	defaultBackoffMax     = time.Second
)
