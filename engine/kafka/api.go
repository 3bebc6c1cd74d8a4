package kafka

import (
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// Client is one loop's view of one cluster.
type Client struct{ cfg Config }

// New makes a client. It sends nothing before it is asked something.
func New(cfg Config) *Client { return &Client{cfg: cfg} }

// Close ends the client: nothing that is under way completes any more, neither its fetchers nor its producers.
func (c *Client) Close() { panic("pending") }

// Features asks for versions and the finalized transaction.version; repeated until ReadTimeout, cached.
func (c *Client) Features(done func(Features, error)) { panic("pending") }

// Topics asks for named topics, repeated while a partition has no leader or the broker is not to be reached, until
// ReadTimeout. A topic that does not exist comes back with its Code and is no error.
func (c *Client) Topics(names []string, done func([]Topic, error)) { panic("pending") }

// MetadataFrom asks one broker once for its own view; no names: brokers only.
func (c *Client) MetadataFrom(node int32, names []string, done func(Metadata, Code, error)) {
	panic("pending")
}

// ListOffsets asks the leaders for offsets at a timestamp (or Earliest, Latest), repeated until ReadTimeout. The answer is
// in the order of parts.
func (c *Client) ListOffsets(parts []id.TopicPartition, timestamp int64, isolation Isolation, done func([]ListedOffset, error)) {
	panic("pending")
}

// FetchOnce fetches once from a partition's leader at one offset.
func (c *Client) FetchOnce(tp id.TopicPartition, offset int64, isolation Isolation, maxBytes int32, done func(Fetched, Code, error)) {
	panic("pending")
}

// InitProducerID initialises an identity: a transactional id, or with an empty one an idempotent producer. It never names
// an expected producer id: initialising with one aborts an open transaction on every version.
func (c *Client) InitProducerID(transactionalID string, timeout time.Duration, protocol int16, done func(Identity, Code, error)) {
	panic("pending")
}

// EndTxn ends the transaction of an identity, in the version of its Protocol. The Identity handed to done is the next one
// on protocol 5, the same on 4.
func (c *Client) EndTxn(who Identity, commit bool, done func(Identity, Code, error)) {
	panic("pending")
}

// AddPartitionsToTxn adds partitions by version 3 (protocol 4, and repairs). Code is the first one that is neither OK nor
// OperationNotAttempted.
func (c *Client) AddPartitionsToTxn(who Identity, parts []id.TopicPartition, done func([]PartitionCode, Code, error)) {
	panic("pending")
}

// AddOffsetsToTxn adds a group's offsets partition by version 3 (protocol 4, and repairs).
func (c *Client) AddOffsetsToTxn(who Identity, group string, done func(Code, error)) {
	panic("pending")
}

// TxnOffsetCommit writes offsets of a group inside the transaction of who (generation -1, no member). Below
// transaction.version 2 AddOffsetsToTxn must have been answered before. Code is the first one that is not OK.
func (c *Client) TxnOffsetCommit(who Identity, group string, offsets []Offset, done func(Code, error)) {
	panic("pending")
}

// OffsetCommit commits offsets of a group plainly (generation -1, no member). Code is the first one that is not OK.
func (c *Client) OffsetCommit(group string, offsets []Offset, done func(Code, error)) {
	panic("pending")
}

// OffsetFetch reads offsets of named partitions. With requireStable a partition with a pending transactional commit
// answers UnstableOffsetCommit in its own Code. Code is the group's.
func (c *Client) OffsetFetch(group string, parts []id.TopicPartition, requireStable bool, done func([]Offset, Code, error)) {
	panic("pending")
}

// DescribeTransaction asks the coordinator of one id. TransactionalIDNotFound: the id is unknown.
func (c *Client) DescribeTransaction(transactionalID string, done func(Transaction, Code, error)) {
	panic("pending")
}

// ListTransactions asks one broker for the ids it coordinates, without filters, ascending by id.
func (c *Client) ListTransactions(node int32, done func([]ListedTransaction, Code, error)) {
	panic("pending")
}

// DescribeProducers asks the leaders of partitions for their producers, one request per leader. A partition whose leader is
// not known or did not answer has a Code of class RefreshLeader or Retry. The answer is in the order of parts.
func (c *Client) DescribeProducers(parts []id.TopicPartition, done func([]PartitionProducers, error)) {
	panic("pending")
}

// WriteTxnMarkers writes end markers by version 1 at the leader of the partitions, which all must have the same one:
// the first partition's. It needs cluster rights.
func (c *Client) WriteTxnMarkers(w MarkerWrite, done func([]PartitionCode, Code, error)) {
	panic("pending")
}

// RepairPartitions sends AddPartitionsToTxn v3 and EndTxn as two frames in one write.
func (c *Client) RepairPartitions(who Identity, parts []id.TopicPartition, commit bool, done func(added, ended Code, err error)) {
	panic("pending")
}

// RepairOffsets sends AddOffsetsToTxn v3 and EndTxn as two frames in one write.
func (c *Client) RepairOffsets(who Identity, group string, commit bool, done func(added, ended Code, err error)) {
	panic("pending")
}

// GroupPartition is the number of the offsets topic's partition that holds a group: what DescribeProducers and
// WriteTxnMarkers call the lane's offsets partition.
func (c *Client) GroupPartition(group string, done func(id.TopicPartition, error)) { panic("pending") }

// CreateTopics creates topics at the controller and answers per topic, in the order asked.
func (c *Client) CreateTopics(topics []NewTopic, done func([]Code, error)) { panic("pending") }

// CreatePartitions raises a topic to count partitions.
func (c *Client) CreatePartitions(topic string, count int32, done func(Code, error)) {
	panic("pending")
}

// DescribeConfigs asks for all settings of topics, in the order asked.
func (c *Client) DescribeConfigs(topics []string, done func([]TopicConfigs, error)) { panic("pending") }

// BrokerConfigs asks one broker for its own settings.
func (c *Client) BrokerConfigs(node int32, done func([]ConfigEntry, Code, error)) { panic("pending") }

// DeleteRecords moves the log start of a partition up to offset.
func (c *Client) DeleteRecords(tp id.TopicPartition, offset int64, done func(Code, error)) {
	panic("pending")
}

// FetcherConfig sets up a Fetcher. Zero values are replaced by the defaults named.
type FetcherConfig struct {
	Isolation         Isolation
	MaxWait           time.Duration // of the broker while it has nothing; default 250 ms
	MaxBytes          int32         // of one answer; default 32 MiB
	PartitionMaxBytes int32         // of one partition in an answer; default 2 MiB
	// BufferBytes is what one partition may have fetched and not yet handed out before it is left out of fetches. Default
	// 2 MiB; an answer may overshoot it.
	BufferBytes int
	// OutOfRange decides where to go on when a position is outside the log, which spans start to end. Nil: an error.
	OutOfRange func(s operator.Split, start, end int64) (position int64, err error)
	// Wake is called when Poll may return more after it returned Waiting.
	Wake func()
}

// Fetcher reads the partitions of its splits, one outstanding fetch per leader.
type Fetcher struct{}

// NewFetcher starts to fetch. Splits must be sorted by topic and partition; positions must be resolved.
func (c *Client) NewFetcher(cfg FetcherConfig, splits []operator.Split) *Fetcher { panic("pending") }

// Poll hands out at most budget records, as operator.Source does. An error is final, except one of emit.
func (f *Fetcher) Poll(budget int, emit func(*operator.Record) error) (operator.Status, error) {
	panic("pending")
}

// Splits are the splits at their present positions, in the order given to NewFetcher; they are valid until the next call
// on the Fetcher.
func (f *Fetcher) Splits() []operator.Split { panic("pending") }

// Limit keeps Poll from handing out records of split i at or above position; -1 lifts it.
func (f *Fetcher) Limit(i int, position int64) { panic("pending") }

// Stable is the last stable offset (or high watermark) last heard of for split i; -1 before the first answer.
func (f *Fetcher) Stable(i int) int64 { panic("pending") }

// Close stops fetching.
func (f *Fetcher) Close() { panic("pending") }

// ProducerConfig sets up a Producer. Zero values are replaced by the defaults named.
type ProducerConfig struct {
	Identity Identity
	// BatchBytes is the size at which a batch is sealed. Default 512 KiB.
	BatchBytes int
	// Linger is the age at which an open batch is sealed. Default 20 ms; negative: only when full or flushed.
	Linger time.Duration
	// BufferBytes is the unacknowledged volume at which the producer is Full. Default 32 MiB.
	BufferBytes int
	// DeliveryTimeout is the age of a sealed batch at which the producer fails. Default 2 min.
	DeliveryTimeout time.Duration
	Compression     Compression
	// Wake is called when the producer is no longer Full, and when it has failed.
	Wake func()
}

// Producer writes under one identity: batches with sequences from 0, one in flight per partition.
type Producer struct{}

// NewProducer makes a producer for one identity and, if transactional, for one transaction of it.
func (c *Client) NewProducer(cfg ProducerConfig) *Producer { panic("pending") }

// Append copies one record into the open batch of its partition. headers lie as in operator.Record. It returns the error
// that the producer has failed with, if it has. A Full producer takes records all the same.
func (p *Producer) Append(topic string, partition int32, key, value, headers []byte, timestamp int64) error {
	panic("pending")
}

// Full reports whether the writer should pause until Wake.
func (p *Producer) Full() bool { panic("pending") }

// Flush seals all open batches and calls done once everything appended so far is acknowledged, or with the error.
func (p *Producer) Flush(done func(error)) { panic("pending") }

// Err is the error that the producer has failed with.
func (p *Producer) Err() error { panic("pending") }

// Ranges is what was acknowledged so far, ascending by topic and partition.
func (p *Producer) Ranges() []token.Range { panic("pending") }

// Open reports whether anything was appended.
func (p *Producer) Open() bool { panic("pending") }

// Close stops the producer; what is not acknowledged stays undecided.
func (p *Producer) Close() { panic("pending") }
