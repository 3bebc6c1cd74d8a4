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
	ms, err := strconv.Atoi(s.Value)
	switch {
	case s.Key == "transactional.id.expiration.ms" && err == nil:
		c.IDExpiration = time.Duration(ms) * time.Millisecond
	case s.Key == "transaction.remove.expired.transaction.cleanup.interval.ms" && err == nil:
		c.IDScan = time.Duration(ms) * time.Millisecond
	case s.Key == "producer.id.expiration.ms" && err == nil:
		c.Housekeeping.ProducerExpiration = time.Duration(ms) * time.Millisecond
	case s.Key == "producer.id.expiration.check.interval.ms" && err == nil:
		c.Housekeeping.ProducerScan = time.Duration(ms) * time.Millisecond
	case s.Key == "log.retention.check.interval.ms" && err == nil:
		c.Housekeeping.Retention = time.Duration(ms) * time.Millisecond
	case s.Key == "log.cleaner.backoff.ms" && err == nil:
		c.Housekeeping.Cleaner = time.Duration(ms) * time.Millisecond
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

// FailTxnLog makes the coordinator of an id report its appends as failed, although they survive; HealTxnLog ends that.
func (b simulated) FailTxnLog(transactionalID string) {
	b.Cluster.FailTxnLog(b.Cluster.Coordinator(transactionalID), simbroker.TxnLogSurvives)
}

// HealTxnLog undoes FailTxnLog everywhere.
func (b simulated) HealTxnLog() {
	for i := range b.Cluster.Brokers() {
		b.Cluster.FailTxnLog(i, simbroker.TxnLogFine)
	}
}

// Stall keeps one follower of a partition from fetching, and says which it is.
func (b simulated) Stall(tp id.TopicPartition) (follower int) {
	for _, r := range b.Cluster.Replicas(tp.Topic, tp.Partition) {
		if r.Broker != b.Cluster.Leader(tp.Topic, tp.Partition) {
			follower = r.Broker
		}
	}
	b.Cluster.StallReplica(tp.Topic, tp.Partition, follower)
	return follower
}

// Shrink takes a follower that has fallen behind out of the ISR.
func (b simulated) Shrink(tp id.TopicPartition, follower int) {
	b.Cluster.ShrinkISR(tp.Topic, tp.Partition, follower)
}

// Uncleanly makes a stalled follower the leader: the others are lost.
func (b simulated) Uncleanly(tp id.TopicPartition, follower int) bool {
	b.Cluster.ResumeReplica(tp.Topic, tp.Partition, follower)
	return b.Cluster.ElectUnclean(tp.Topic, tp.Partition, follower)
}
