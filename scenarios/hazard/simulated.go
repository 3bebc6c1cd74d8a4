package hazard

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/sim/simbroker"
	"github.com/onefold/onefold/sim/simbroker/simstage"
)

// simulated is a simulated cluster of three brokers as a backend of scripts.
type simulated struct{ *simstage.Backend }

// newSimulated makes a cluster of a profile that has what a script needs.
func newSimulated(profile string, n Needs) (simulated, error) {
	p, known := simbroker.ProfileOf(profile)
	if !known {
		return simulated{}, fmt.Errorf("there is no profile %q; there are %v", profile, Profiles())
	}
	if n.MaxEpoch > 0 {
		p.MaxEpoch = n.MaxEpoch
	}
	cfg := simbroker.Config{Profile: p, ScanInterval: 100 * time.Millisecond, Encode: true}
	for _, s := range n.Settings {
		if err := configure(&cfg, s); err != nil {
			return simulated{}, err
		}
	}
	return simulated{simstage.New(simstage.Config{Seed: 1, Cluster: cfg})}, nil
}

// configure is a broker's setting, by Kafka's name, for the simulated one.
func configure(c *simbroker.Config, s Setting) error {
	n, err := strconv.Atoi(s.Value)
	switch {
	case s.Key == "transactional.id.expiration.ms" && err == nil:
		c.IDExpiration = time.Duration(n) * time.Millisecond
	case s.Key == "transaction.abort.timed.out.transaction.cleanup.interval.ms" && err == nil:
		c.ScanInterval = time.Duration(n) * time.Millisecond
	case s.Key == "transaction.remove.expired.transaction.cleanup.interval.ms" && err == nil:
		c.IDScan = time.Duration(n) * time.Millisecond
	case s.Key == "producer.id.expiration.ms" && err == nil:
		c.Housekeeping.ProducerExpiration = time.Duration(n) * time.Millisecond
	case s.Key == "producer.id.expiration.check.interval.ms" && err == nil:
		c.Housekeeping.ProducerScan = time.Duration(n) * time.Millisecond
	case s.Key == "log.retention.check.interval.ms" && err == nil:
		c.Housekeeping.Retention = time.Duration(n) * time.Millisecond
	case s.Key == "log.cleaner.backoff.ms" && err == nil:
		c.Housekeeping.Cleaner = time.Duration(n) * time.Millisecond
	case s.Key == "offsets.retention.minutes" && err == nil:
		c.OffsetsRetention = time.Duration(n) * time.Minute
	case s.Key == "offsets.retention.check.interval.ms" && err == nil:
		c.OffsetsScan = time.Duration(n) * time.Millisecond
	case s.Key == "log.initial.task.delay.ms", s.Key == "offsets.topic.replication.factor": // it has none, and it is 1
	default:
		return fmt.Errorf("the simulated broker has no setting %s=%s", s.Key, s.Value)
	}
	return nil
}

// TakeLeader implements Leaderless.
func (b simulated) TakeLeader(tp id.TopicPartition) error {
	if !b.Cluster.TakeLeader(tp.Topic, tp.Partition) {
		return errors.New("it has none")
	}
	return nil
}

// GiveLeader implements Leaderless.
func (b simulated) GiveLeader(tp id.TopicPartition) error {
	b.Cluster.GiveLeader(tp.Topic, tp.Partition)
	return nil
}

// FailTxnLog implements TxnLogBreaker.
func (b simulated) FailTxnLog(transactionalID string) error {
	b.Cluster.FailTxnLog(b.Cluster.Coordinator(transactionalID), simbroker.TxnLogSurvives)
	return nil
}

// HealTxnLog implements TxnLogBreaker.
func (b simulated) HealTxnLog() error {
	for i := range b.Cluster.Brokers() {
		b.Cluster.FailTxnLog(i, simbroker.TxnLogFine)
	}
	return nil
}
