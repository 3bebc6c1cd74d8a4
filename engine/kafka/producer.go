package kafka

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/token"
)

// ProducerConfig sets up a Producer. Zero values are replaced by the defaults named.
type ProducerConfig struct {
	Identity Identity
	// BatchBytes is the size at which a batch is sealed. Default 512 KiB.
	BatchBytes int
	// Linger is the age at which a batch is sealed that has no other before it. Default 50 ms; negative: only when full or
	// flushed.
	Linger time.Duration
	// BufferBytes is the unacknowledged volume at which the producer is Full. Default 32 MiB.
	BufferBytes int
	// DeliveryTimeout is the age of a sealed batch at which the producer fails. Default 2 min.
	DeliveryTimeout time.Duration
	Compression     Compression
	// Wake is called when the producer is no longer Full, and when it has failed.
	Wake func()
}

// Producer writes under one identity: batches with sequences from 0, one in flight per partition, all partitions at once.
// A batch is sealed once and sent again, byte for byte, until it is acknowledged or refused; what is refused fails the
// producer for good.
type Producer struct {
	client  *Client
	cfg     ProducerConfig
	who     Identity
	topics  []*outTopic
	last    *outTopic  // of the last Append
	parts   []*outPart // in the order of their first record
	bytes   int        // appended and not acknowledged
	number  uint64     // of the last batch sealed
	pending int        // sealed batches that are not acknowledged
	flushes []flush
	linger  env.Timer
	full    bool // Full was answered, Wake is owed
	posted  bool
	posting func()      // turn
	feature func(error) // pumpWith
	sends   []produceSend
	joining bool
	joinTry int
	codec   codec
	err     error
	closed  bool
}

type outTopic struct {
	name  string
	parts []*outPart // by number; nil where nothing was written
}

// outPart is one partition of a producer.
type outPart struct {
	tp        id.TopicPartition
	open      builder
	overdue   bool // open lingered; sealed as soon as nothing is before it
	sum       RangeSum
	sequence  int32
	sealed    []*outBatch // the first may be in flight
	inFlight  bool
	held      bool // waits for a timer
	joined    bool // to the transaction, where that takes a request
	try       int
	acked     token.Range
	anyAcked  bool
	bytesOpen int
}

// outBatch is one sealed batch.
type outBatch struct {
	buf     []byte
	number  uint64
	count   int32
	sum     RangeSum // of the partition, up to and with this batch
	bytes   int
	sealed  env.Instant
	sending int // sends that the port has not answered yet: the bytes are its
	done    bool
}

type flush struct {
	upTo uint64
	left int
	done func(error)
}

// NewProducer makes a producer for one identity and, if that is transactional, for one transaction of it.
func (c *Client) NewProducer(cfg ProducerConfig) *Producer {
	orElse(&cfg.BatchBytes, 512<<10)
	orElse(&cfg.Linger, 50*time.Millisecond)
	orElse(&cfg.BufferBytes, 32<<20)
	orElse(&cfg.DeliveryTimeout, 2*time.Minute)
	p := &Producer{client: c, cfg: cfg, who: cfg.Identity}
	p.posting, p.feature = p.turn, p.pumpWith
	return p
}

// Append copies one record into the open batch of its partition. headers lie as in operator.Record. It returns the error
// that the producer has failed with, if it has. A Full producer takes records all the same.
func (p *Producer) Append(topic string, partition int32, key, value, headers []byte, timestamp int64) error {
	if p.err != nil {
		return p.err
	}
	o := p.part(topic, partition)
	if o.open.buf == nil {
		o.open.reset(p.client.buffers.get())
		p.startLinger()
	}
	before := len(o.open.buf)
	o.sum.add(timestamp, o.open.append(key, value, headers, timestamp))
	p.bytes += len(o.open.buf) - before
	o.bytesOpen += len(o.open.buf) - before
	if len(o.open.buf) >= p.cfg.BatchBytes {
		p.seal(o)
	}
	return nil
}

func (p *Producer) part(topic string, partition int32) *outPart {
	t := p.last
	if t == nil || t.name != topic {
		t = p.topic(topic)
		p.last = t
	}
	if int(partition) < len(t.parts) {
		if o := t.parts[partition]; o != nil {
			return o
		}
	}
	return p.newPart(t, partition)
}

func (p *Producer) topic(name string) *outTopic {
	for _, t := range p.topics {
		if t.name == name {
			return t
		}
	}
	t := &outTopic{name: name}
	p.topics = append(p.topics, t)
	p.client.cluster.want(name)
	return t
}

func (p *Producer) newPart(t *outTopic, partition int32) *outPart {
	for int(partition) >= len(t.parts) {
		t.parts = append(t.parts, nil)
	}
	o := &outPart{tp: id.TopicPartition{Topic: t.name, Partition: partition}}
	o.acked = token.Range{Topic: t.name, Partition: partition, First: -1, Last: -1}
	o.joined = p.who.TransactionalID == "" || p.who.Protocol >= 5
	t.parts[partition] = o
	p.parts = append(p.parts, o)
	return o
}

// seal closes the open batch of a partition: from here on its bytes do not change.
func (p *Producer) seal(o *outPart) {
	b := &o.open
	buf := b.buf
	if p.cfg.Compression != NoCompression {
		packed, err := p.codec.pack(p.cfg.Compression, p.client.buffers.get(), buf[:batchHeader], buf[batchHeader:])
		if err != nil {
			p.fail(fmt.Errorf("compress a batch for %s: %w", o.tp, err))
			return
		}
		p.client.buffers.put(buf)
		buf = packed
	}
	sealBatch(buf, b, p.who, o.sequence, p.cfg.Compression)
	o.sequence = nextSequence(o.sequence, b.count)
	p.number++
	p.pending++
	o.sealed = append(o.sealed, &outBatch{
		buf: buf, number: p.number, count: b.count, sum: o.sum, bytes: o.bytesOpen, sealed: p.client.cfg.Process.Now(),
	})
	b.buf, b.count, o.bytesOpen, o.overdue = nil, 0, 0, false
	p.schedule()
}

// nextSequence counts on; 2147483647 is followed by 0.
func nextSequence(sequence, count int32) int32 {
	return int32((int64(sequence) + int64(count)) & (1<<31 - 1))
}

func (p *Producer) startLinger() {
	if p.linger != nil || p.cfg.Linger < 0 {
		return
	}
	p.linger = p.client.cfg.Loop.After(p.cfg.Linger, func() {
		p.linger = nil
		if p.dead() {
			return
		}
		posted := p.posted
		p.posted = true // seal need not post
		for _, o := range p.parts {
			if o.open.buf == nil {
				continue
			}
			if len(o.sealed) > 0 {
				o.overdue = true // it could not be sent yet, and may as well grow
			} else {
				p.seal(o)
			}
		}
		if p.posted = posted; !posted {
			p.turn()
		}
	})
}

func (p *Producer) dead() bool { return p.err != nil || p.closed || p.client.closed }

// Full reports whether the writer should pause until Wake.
func (p *Producer) Full() bool {
	p.full = p.err == nil && p.bytes >= p.cfg.BufferBytes
	return p.full
}

// Flush seals all open batches and calls done once everything appended so far is acknowledged, or with the error.
func (p *Producer) Flush(done func(error)) {
	for _, o := range p.parts {
		if o.open.buf != nil && p.err == nil {
			p.seal(o)
		}
	}
	if p.err != nil || p.pending == 0 {
		p.client.later(func() { done(p.err) })
		return
	}
	p.flushes = append(p.flushes, flush{p.number, p.pending, done})
}

// Err is the error that the producer has failed with.
func (p *Producer) Err() error { return p.err }

// Used reports whether anything was appended.
func (p *Producer) Used() bool { return len(p.parts) > 0 }

// Identity is who writes.
func (p *Producer) Identity() Identity { return p.who }

// Ranges is what was acknowledged so far, ascending by topic and partition.
func (p *Producer) Ranges() []token.Range {
	var ranges []token.Range
	for _, o := range p.parts {
		if o.anyAcked {
			ranges = append(ranges, o.acked)
		}
	}
	slices.SortStableFunc(ranges, func(a, b token.Range) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return ranges
}

// Close stops the producer; what is not acknowledged stays undecided.
func (p *Producer) Close() {
	p.closed = true
	if p.linger != nil {
		p.linger.Stop()
	}
}

func (p *Producer) fail(err error) {
	if p.err != nil {
		return
	}
	p.err = err
	p.full = false
	flushes := p.flushes
	p.flushes = nil
	p.client.later(func() {
		for _, f := range flushes {
			f.done(err)
		}
		if p.cfg.Wake != nil && !p.closed {
			p.cfg.Wake()
		}
	})
}
