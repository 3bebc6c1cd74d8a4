package simbroker

import (
	"time"

	"github.com/onefold/onefold/engine/id"
)

// Config describes a cluster. The zero value of a field means its default.
type Config struct {
	Brokers int // 3
	Profile Profile
	// Prefix names the brokers' nodes: Prefix0, Prefix1, ... Default "broker".
	Prefix string

	TxnShards         int // partitions of __transaction_state; 8
	OffsetsPartitions int // partitions of __consumer_offsets; 8

	// Replication says how many copies partitions have, and how they are kept equal.
	Replication Replication
	// UncleanElection is the cluster's unclean.leader.election.enable: a replica that is not in sync may lead when no other
	// can. A topic can allow it for itself.
	UncleanElection bool
	// MinISR is the cluster's min.insync.replicas; 1.
	MinISR int
	// ReplicaLag is replica.lag.time.max.ms: a follower that has not caught up for so long leaves the ISR; 10 s. (A real
	// broker's default is 30 s.)
	ReplicaLag time.Duration

	// Housekeeping says when a broker deletes, compacts and forgets of its own accord.
	Housekeeping Housekeeping

	// MaxTxnTimeout is the broker's transaction.max.timeout.ms; 15 minutes.
	MaxTxnTimeout time.Duration
	// ScanInterval is how often a coordinator looks for transactions that are past their timeout; 10 s.
	ScanInterval time.Duration
	// IDExpiration is how long an idle transactional id is remembered; 0 for ever.
	IDExpiration time.Duration
	// IDScan is how often a coordinator looks for ids that expired; 1 hour, or a quarter of IDExpiration if that is shorter.
	IDScan time.Duration

	// OffsetsRetention is the broker's offsets.retention.minutes: how long after its commit an offset is kept; 7 days.
	OffsetsRetention time.Duration
	// OffsetsScan is how often a group coordinator looks for expired offsets; 10 minutes.
	OffsetsScan time.Duration

	// ClientTimeout is how long a client's port waits for an answer, beyond what the request itself may wait, before it
	// breaks the connection; 15 s.
	ClientTimeout time.Duration

	// Session bounds the time after which a broker that died is declared dead; 2 to 4 s.
	Session Span
	// FailOver bounds the time after that until its coordinator partitions have another leader; 50 to 500 ms.
	FailOver Span
	// Registration bounds the time that a started broker takes until it leads its partitions again; 50 to 300 ms.
	Registration Span
	// Load bounds the time that a coordinator takes to load a partition; 5 to 100 ms.
	Load Span
	// TxnAppend bounds an append to __transaction_state; 1 to 6 ms.
	TxnAppend Span
	// OffsetAppend bounds the replication of an append to __consumer_offsets; 1 to 5 ms.
	OffsetAppend Span
	// Marker bounds the time from the decision until a marker leaves for one partition; 0.2 to 10 ms. One in sixteen
	// takes ten times as long.
	Marker Span
	// Visible bounds the time until a broker knows of a new topic or partition; 1 to 120 ms.
	Visible Span

	// NoClusterRights: markers by hand are refused with 31, as a cluster does whose clients have the rights on topics and ids
	// alone.
	NoClusterRights bool

	// Where resolves a transactional id and producer id to the checkpoint and subtask whose transaction it is, for hooks
	// k10 to k12. Nil: hooks carry the generation that the id itself names.
	Where func(transactionalID string, producerID int64) (id.Checkpoint, id.Subtask)

	// Expensive turns on the invariants that look at whole partitions and coordinators after each transition of a
	// transaction. World.Checks turns them on, too.
	Expensive bool
	// Record keeps what callers were told about transactions, for Cluster.Operations.
	Record bool
	// Encode sends each request and response through its wire form, so that fields which a version does not have get
	// lost, as they do in reality.
	Encode bool
}

// Replication describes the copies of partitions.
type Replication struct {
	// Factor is default.replication.factor: the copies of a topic that does not say itself, and of __consumer_offsets; 1.
	// Partitions of __consumer_offsets with one copy move to another broker when theirs dies, as if they had more.
	Factor int
	// Fetch bounds the time from a follower's fetch until the leader hears of it with the next one; 0.3 to 3 ms. One in 64
	// takes ten times as long.
	Fetch Span
}

// Housekeeping is what brokers do to logs once in a while. The zero value of a field means Kafka's default; below 0: only
// when it is asked for by a method of Cluster.
type Housekeeping struct {
	Retention time.Duration // log.retention.check.interval.ms; 5 minutes
	Cleaner   time.Duration // log.cleaner.backoff.ms; 15 s
	// ProducerExpiration is producer.id.expiration.ms, by the timestamp of a producer's last record; 24 h. It is looked at
	// each ProducerScan: producer.id.expiration.check.interval.ms; 10 minutes.
	ProducerExpiration, ProducerScan time.Duration
}

// Span is an interval from which a duration is drawn, both ends included.
type Span struct{ Min, Max time.Duration }

func (s Span) or(lo, hi time.Duration) Span {
	if s.Max == 0 {
		return Span{lo, hi}
	}
	return s
}

func (c Config) withDefaults() Config {
	positive := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	positive(&c.Brokers, 3)
	positive(&c.TxnShards, 8)
	positive(&c.OffsetsPartitions, 8)
	if c.Profile.MaxEpoch == 0 {
		p, _ := ProfileOf("k44")
		c.Profile = p
	}
	if c.Prefix == "" {
		c.Prefix = "broker"
	}
	if c.MaxTxnTimeout == 0 {
		c.MaxTxnTimeout = 15 * time.Minute
	}
	positive(&c.Replication.Factor, 1)
	positive(&c.MinISR, 1)
	c.Replication.Factor = min(c.Replication.Factor, c.Brokers)
	c.Replication.Fetch = c.Replication.Fetch.or(300*time.Microsecond, 3*time.Millisecond)
	or := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	or(&c.ReplicaLag, 10*time.Second)
	or(&c.Housekeeping.Retention, 5*time.Minute)
	or(&c.Housekeeping.Cleaner, 15*time.Second)
	or(&c.Housekeeping.ProducerExpiration, 24*time.Hour)
	or(&c.Housekeeping.ProducerScan, 10*time.Minute)
	if c.ScanInterval == 0 {
		c.ScanInterval = 10 * time.Second
	}
	if c.IDScan == 0 {
		c.IDScan = time.Hour
		if c.IDExpiration > 0 {
			c.IDScan = min(c.IDScan, max(c.IDExpiration/4, time.Millisecond))
		}
	}
	if c.OffsetsRetention == 0 {
		c.OffsetsRetention = 7 * 24 * time.Hour
	}
	if c.OffsetsScan == 0 {
		c.OffsetsScan = 10 * time.Minute
	}
	if c.ClientTimeout == 0 {
		c.ClientTimeout = 15 * time.Second
	}
	c.Session = c.Session.or(2*time.Second, 4*time.Second)
	c.FailOver = c.FailOver.or(50*time.Millisecond, 500*time.Millisecond)
	c.Registration = c.Registration.or(50*time.Millisecond, 300*time.Millisecond)
	c.Load = c.Load.or(5*time.Millisecond, 100*time.Millisecond)
	c.TxnAppend = c.TxnAppend.or(time.Millisecond, 6*time.Millisecond)
	c.OffsetAppend = c.OffsetAppend.or(time.Millisecond, 5*time.Millisecond)
	c.Marker = c.Marker.or(200*time.Microsecond, 10*time.Millisecond)
	c.Visible = c.Visible.or(time.Millisecond, 120*time.Millisecond)
	return c
}
