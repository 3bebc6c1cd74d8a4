package stage

import (
	"fmt"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// MarkCode writes one transactional offset until the code is final.
func (t *T) MarkCode(who kafka.Identity, group string, tp id.TopicPartition, offset int64, metadata string) kafka.Code {
	if who.Protocol < 5 {
		code := t.Settle("add offsets", func(done func(kafka.Code, error)) { t.AddOffsetsToTxn(who, group, done) })
		if code != kafka.OK {
			return code
		}
	}
	return t.Settle("txn offset commit", func(done func(kafka.Code, error)) {
		t.TxnOffsetCommit(who, group, []kafka.Offset{{Topic: tp.Topic, Partition: tp.Partition, Offset: offset, Metadata: metadata}}, done)
	})
}

// Mark is markCode, which must succeed.
func (t *T) Mark(who kafka.Identity, group string, tp id.TopicPartition, offset int64, metadata string) {
	code := t.MarkCode(who, group, tp, offset, metadata)
	t.Check(code == kafka.OK, "txn offset commit: %v", code)
}

// Seed commits one offset plainly.
func (t *T) Seed(group string, tp id.TopicPartition, offset int64, metadata string) {
	code := t.Settle("offset commit", func(done func(kafka.Code, error)) {
		t.OffsetCommit(group, []kafka.Offset{{Topic: tp.Topic, Partition: tp.Partition, Offset: offset, Metadata: metadata}}, done)
	})
	t.Check(code == kafka.OK, "offset commit: %v", code)
}

// Lane reads one offset, once; the group's own code settles.
func (t *T) Lane(group string, tp id.TopicPartition, stable bool) (got kafka.Offset, code kafka.Code) {
	code = t.Settle("offset fetch", func(done func(kafka.Code, error)) {
		t.OffsetFetch(group, []id.TopicPartition{tp}, stable, func(o []kafka.Offset, c kafka.Code, err error) {
			if err == nil && c == kafka.OK {
				got = o[0]
			}
			done(c, err)
		})
	})
	return got, code
}

// StableLane waits until no commit is pending.
func (t *T) StableLane(group string, tp id.TopicPartition) (o kafka.Offset) {
	t.Wait(fmt.Sprintf("offset of %s stable", tp), func() bool {
		var code kafka.Code
		o, code = t.Lane(group, tp, true)
		t.Check(code == kafka.OK, "offset fetch: %v", code)
		return o.Code != kafka.UnstableOffsetCommit
	})
	t.Check(o.Code == kafka.OK, "offset fetch of %s: %v", tp, o.Code)
	return o
}

// LaneAndWriter is a seeded lane and a writer for one script.
func (t *T) LaneAndWriter() (group string, lane id.TopicPartition, data id.TopicPartition, who kafka.Identity) {
	name := t.Topic(3)
	group, lane, data = t.Name("group"), Part(name, 1), Part(name, 0)
	t.Seed(group, lane, 5, "seed")
	return group, lane, data, t.Writer()
}
