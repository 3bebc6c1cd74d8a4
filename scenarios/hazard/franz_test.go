package hazard

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/engine/real/kafkatest"
)

// H39 lives in a client: franz-go's Flush returns nil although the records of a fenced transaction are nowhere, and only their
// promises say so. It runs on an embedded kfake, and on the brokers of TestHazardsKafka.
func TestFlushDoesNotTell(t *testing.T) {
	flushOnFenced(t, kafkatest.Embedded(t).ListenAddrs())
}

// flushOnFenced writes, is fenced, writes again and flushes.
func flushOnFenced(t *testing.T, brokers []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	topic := "flush-" + time.Now().Format("150405.000000000")
	admin, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := kadm.NewClient(admin).CreateTopic(ctx, 1, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	id := "id-of-" + topic
	owner := transactional(t, brokers, id)
	if err := owner.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := owner.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("a")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	other := transactional(t, brokers, id)
	if _, _, err := other.ProducerID(ctx); err != nil {
		t.Fatal(err)
	}
	promise := make(chan error, 1)
	owner.Produce(ctx, &kgo.Record{Topic: topic, Value: []byte("b")}, func(_ *kgo.Record, err error) { promise <- err })
	flushed := owner.Flush(ctx)
	told := <-promise
	if flushed != nil {
		t.Errorf("Flush tells: %v. It is time to say so in the catalogue", flushed)
	}
	if !errors.Is(told, kerr.InvalidProducerEpoch) && !errors.Is(told, kerr.ProducerFenced) && !errors.Is(told, kerr.InvalidTxnState) {
		t.Errorf("the promise: %v", told)
	}
	t.Logf("the promise says %v, Flush says %v", told, flushed)
}

func transactional(t *testing.T, brokers []string, id string) *kgo.Client {
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
