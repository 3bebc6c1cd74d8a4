package realstage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/id"
	client "github.com/onefold/onefold/engine/kafka"
)

// Mover is a Backend of several brokers that can move leaders and transaction coordinators, by what any administrator may
// send: another order of replicas, and the election of the first one.
type Mover struct {
	*Backend
	admin   *kgo.Client
	brokers []asked
}

// asked is a broker that is asked again over a new connection when the one that there was is dead: one that was killed since it
// was last asked shows by nothing else.
type asked struct{ *kgo.Broker }

// Request implements kmsg.Requestor.
func (a asked) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return a.RetriableRequest(ctx, req)
}

// NewMover is New for a cluster of at least two brokers, all of them named, whose topics have a replica on each.
func NewMover(name string, bootstrap []string) (*Mover, error) {
	b, err := New(name, bootstrap)
	if err != nil {
		return nil, err
	}
	admin, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		b.Close()
		return nil, err
	}
	m := &Mover{Backend: b, admin: admin}
	for _, broker := range admin.SeedBrokers() {
		m.brokers = append(m.brokers, asked{broker})
	}
	return m, nil
}

// Close ends the client.
func (m *Mover) Close() {
	m.admin.Close()
	m.Backend.Close()
}

// MoveLeader implements stage.Mover. It waits for who is to lead to be in sync.
func (m *Mover) MoveLeader(tp id.TopicPartition) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	now, _, err := m.partition(ctx, tp)
	if err != nil {
		return err
	}
	order := slices.Clone(now.Replicas)
	at := slices.Index(order, now.Leader)
	if at < 0 || len(order) < 2 {
		return fmt.Errorf("%s is led by %d of replicas %v: there is nobody to move to", tp, now.Leader, order)
	}
	order = append(order[at+1:], order[:at+1]...)
	if err := m.reorder(ctx, tp, order); err != nil {
		return err
	}
	for {
		if err := m.elect(ctx, tp); err != nil {
			return err
		}
		now, all, err := m.partition(ctx, tp)
		if err == nil && all && now.Leader == order[0] {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is led by %d, not by %d, after %s", tp, now.Leader, order[0], patience)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// MoveCoordinator implements stage.Mover.
func (m *Mover) MoveCoordinator(transactionalID string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	const log = "__transaction_state"
	t, err := m.topic(ctx, m.brokers[0], log)
	if err != nil {
		return err
	}
	tp := id.TopicPartition{Topic: log, Partition: client.InternalPartition(transactionalID, int32(len(t.Partitions)))}
	if err := m.MoveLeader(tp); err != nil {
		return err
	}
	now, _, err := m.partition(ctx, tp)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKeys = 4, 1, []string{transactionalID}
	resp, err := req.RequestWith(ctx, m.brokers[0])
	if err != nil {
		return err
	}
	for _, c := range resp.Coordinators {
		if c.ErrorCode != 0 || c.NodeID != now.Leader {
			return fmt.Errorf("%s was moved to %d, but broker %d coordinates %s, code %d", tp, now.Leader, c.NodeID, transactionalID, c.ErrorCode)
		}
	}
	return nil
}

func (m *Mover) topic(ctx context.Context, broker asked, name string) (kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &name
	req.Topics = []kmsg.MetadataRequestTopic{t}
	resp, err := req.RequestWith(ctx, broker)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, err
	}
	if len(resp.Topics) != 1 {
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("metadata of %s: %d topics", name, len(resp.Topics))
	}
	return resp.Topics[0], kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

// partition is the newest view of a partition that any broker has, and whether all have that one.
func (m *Mover) partition(ctx context.Context, tp id.TopicPartition) (newest kmsg.MetadataResponseTopicPartition, all bool, err error) {
	seen := 0
	for _, broker := range m.brokers {
		t, err := m.topic(ctx, broker, tp.Topic)
		if err != nil {
			return newest, false, fmt.Errorf("metadata of %s: %w", tp, err)
		}
		for _, p := range t.Partitions {
			if p.Partition != tp.Partition {
				continue
			}
			if seen++; seen == 1 || p.LeaderEpoch > newest.LeaderEpoch {
				all = seen == 1
				newest = p
			} else if p.LeaderEpoch < newest.LeaderEpoch {
				all = false
			}
		}
	}
	if seen == 0 {
		return newest, false, fmt.Errorf("metadata of %s: %w", tp, kerr.UnknownTopicOrPartition)
	}
	return newest, all && seen == len(m.brokers), nil
}

// reorder sets the order of replicas, which are the same.
func (m *Mover) reorder(ctx context.Context, tp id.TopicPartition, order []int32) error {
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Partition, p.Replicas = tp.Partition, order
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic, t.Partitions = tp.Topic, []kmsg.AlterPartitionAssignmentsRequestTopicPartition{p}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis, req.Topics = int32(patience.Milliseconds()), []kmsg.AlterPartitionAssignmentsRequestTopic{t}
	resp, err := req.RequestWith(ctx, m.admin)
	if err != nil {
		return fmt.Errorf("reassign %s: %w", tp, err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return fmt.Errorf("reassign %s: %w", tp, err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("reassign %s: %w", tp, err)
			}
		}
	}
	return nil
}

// elect has the first replica elected. That it is elected already is no error, nor that it cannot be at the moment.
func (m *Mover) elect(ctx context.Context, tp id.TopicPartition) error {
	t := kmsg.NewElectLeadersRequestTopic()
	t.Topic, t.Partitions = tp.Topic, []int32{tp.Partition}
	req := kmsg.NewPtrElectLeadersRequest()
	req.TimeoutMillis, req.Topics = int32(patience.Milliseconds()), []kmsg.ElectLeadersRequestTopic{t}
	if _, err := req.RequestWith(ctx, m.admin); err != nil {
		return fmt.Errorf("elect a leader of %s: %w", tp, err)
	}
	return nil
}
