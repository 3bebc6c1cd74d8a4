package kafka

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// endTxn calls EndTxn and waits.
func endTxn(l *fakeLoop, c *Client, who Identity) (next Identity, code Code, err error) {
	done := false
	c.EndTxn(who, true, func(n Identity, k Code, e error) { next, code, err, done = n, k, e, true })
	if done {
		l.t.Fatal("done was called inside the call")
	}
	l.run(func() bool { return done })
	return
}

// A call is tried once; what it hears about its coordinator decides where the next try goes, and nothing is repeated in
// between.
func TestCoordinatorIsForgottenOnlyWhenItMayBeAnother(t *testing.T) {
	for _, x := range []struct {
		code   Code
		err    error
		forget bool
	}{
		{OK, nil, false},
		{ConcurrentTransactions, nil, false},
		{InvalidTxnState, nil, false},
		{ProducerFenced, nil, false},
		{CoordinatorLoadInProgress, nil, true},
		{CoordinatorNotAvailable, nil, true},
		{NotCoordinator, nil, true},
		{OK, errors.New("connection broke"), true},
		{OK, fmt.Errorf("refused: %w", broker.ErrNotSent), true},
	} {
		l, c := newFake(t, 1)
		l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
			if r, ok := req.(*kmsg.EndTxnRequest); ok {
				resp := r.ResponseKind().(*kmsg.EndTxnResponse)
				resp.ErrorCode = int16(x.code)
				return resp, x.err
			}
			return nil, nil
		}
		_, code, err := endTxn(l, c, writer)
		if code != x.code || (err == nil) != (x.err == nil) || errors.Is(err, broker.ErrNotSent) != errors.Is(x.err, broker.ErrNotSent) {
			t.Fatalf("%v, %v: got %v, %v", x.code, x.err, code, err)
		}
		if l.count("EndTxn v5 to 1") != 1 {
			t.Fatalf("%v, %v: sent\n%s", x.code, x.err, l.tail())
		}
		l.cluster.coordinator = 2
		endTxn(l, c, writer)
		if forgot := l.count("EndTxn v5 to 2") == 1; forgot != x.forget {
			t.Fatalf("%v, %v: forgot the coordinator: %v", x.code, x.err, forgot)
		}
	}
}

// When the coordinator cannot be found nothing was sent, and the error says so: the caller may do something else.
func TestUnfoundCoordinatorIsNotSent(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.FindCoordinatorRequest); ok {
			resp := r.ResponseKind().(*kmsg.FindCoordinatorResponse)
			resp.Coordinators = []kmsg.FindCoordinatorResponseCoordinator{{NodeID: -1, ErrorCode: int16(CoordinatorNotAvailable)}}
			return resp, nil
		}
		return nil, nil
	}
	_, code, err := endTxn(l, c, writer)
	if code != CoordinatorNotAvailable || !errors.Is(err, broker.ErrNotSent) || l.count("EndTxn") != 0 {
		t.Fatal(code, err)
	}
}

// An answer that never comes makes the outcome unknown after the request timeout; it is not "not sent".
func TestLostAnswerIsUnknown(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.silent = func(_ int32, req kmsg.Request) bool { return req.Key() == 26 }
	_, _, err := endTxn(l, c, writer)
	if !errors.Is(err, ErrTimeout) || errors.Is(err, broker.ErrNotSent) || time.Duration(l.now) < defaultRequestTimeout {
		t.Fatal(err, time.Duration(l.now))
	}
}

// EndTxn hands out the next identity on protocol 5 and keeps it on 4; each goes out in its own version.
func TestEndTxnByProtocol(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.EndTxnRequest); ok {
			resp := r.ResponseKind().(*kmsg.EndTxnResponse)
			if r.Version >= 5 {
				resp.ProducerID, resp.ProducerEpoch = r.ProducerID, r.ProducerEpoch+1
			}
			return resp, nil
		}
		return nil, nil
	}
	want := writer
	want.ProducerEpoch++
	if next, code, err := endTxn(l, c, writer); next != want || code != OK || err != nil {
		t.Fatal(next, code, err)
	}
	old := writer
	old.Protocol = 4
	if next, _, _ := endTxn(l, c, old); next != old || l.count("EndTxn v4") != 1 || l.count("EndTxn v5") != 1 {
		t.Fatalf("%+v\n%s", next, l.tail())
	}
}

// A broker that does not know version 5 is not sent a lower one: it would mean the other protocol.
func TestProtocolIsNotLoweredSilently(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if _, ok := req.(*kmsg.ApiVersionsRequest); ok {
			resp := l.cluster.process(0, req).(*kmsg.ApiVersionsResponse)
			for i := range resp.ApiKeys {
				resp.ApiKeys[i].MaxVersion = 4
			}
			return resp, nil
		}
		return nil, nil
	}
	if _, _, err := endTxn(l, c, writer); !errors.Is(err, broker.ErrNotSent) || l.count("EndTxn") != 0 {
		t.Fatal(err)
	}
}

// A broker that does not know ApiVersions 4 is asked in version 3.
func TestVersionsFallBack(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ApiVersionsRequest); ok && r.Version == 4 {
			return nil, fmt.Errorf("version 4, only 3 possible: %w", broker.ErrNotSent)
		}
		return nil, nil
	}
	var got Features
	done := false
	c.Features(func(f Features, err error) { got, done = f, err == nil })
	l.run(func() bool { return done })
	if got.TransactionVersion != 2 || got.Protocol() != 5 || got.Max(0) != 99 || got.Max(1000) != -1 {
		t.Fatalf("%+v", got)
	}
}

// One broker of a cluster that is being upgraded speaks for all, until an older one hangs up: it is asked itself, and is sent
// nothing newer from then on.
func TestOlderBrokerIsAskedItself(t *testing.T) {
	l, c := newFake(t, 1)
	old := l.cluster.coordinator
	l.cluster.script = func(node int32, req kmsg.Request) (kmsg.Response, error) {
		if _, ok := req.(*kmsg.ApiVersionsRequest); ok && node == old {
			resp := l.cluster.process(node, req).(*kmsg.ApiVersionsResponse)
			resp.ApiKeys[26].MaxVersion = 3
			return resp, nil
		}
		if node == old && req.Key() == 26 && req.GetVersion() > 3 {
			return nil, errors.New("connection ended")
		}
		return nil, nil
	}
	who := writer
	who.Protocol = 4
	if _, _, err := endTxn(l, c, who); err == nil || errors.Is(err, broker.ErrNotSent) {
		t.Fatal(err)
	}
	asked := false
	l.After(10*time.Millisecond, func() { asked = true })
	l.run(func() bool { return asked })
	if _, code, err := endTxn(l, c, who); err != nil || code != OK || l.count("EndTxn v3") != 1 {
		t.Fatal(code, err, l.tail())
	}
	if got := c.feat.is.Max(0); got != 99 {
		t.Fatalf("produce %d", got)
	}
}

// The code of AddPartitionsToTxn is the one that says why, not "operation not attempted".
func TestAddPartitionsSaysWhy(t *testing.T) {
	codes := []PartitionCode{{Code: OperationNotAttempted}, {Code: UnknownTopicOrPartition}, {Code: OperationNotAttempted}}
	if got := firstCode(codes); got != UnknownTopicOrPartition {
		t.Fatal(got)
	}
	if got := firstCode(codes[:1]); got != OperationNotAttempted {
		t.Fatal(got)
	}
}

// The repair goes out as two frames in one write, to the coordinator, and answers both codes.
func TestRepairIsOneWrite(t *testing.T) {
	l, c := newFake(t, 1)
	done := false
	c.RepairPartitions(writer, []id.TopicPartition{{Topic: "t"}}, true, func(added, ended Code, err error) {
		done = added == OK && ended == OK && err == nil
	})
	l.run(func() bool { return done })
	if l.count("AddPartitionsToTxn v3 + EndTxn v5 to 1") != 1 {
		t.Fatal(l.tail())
	}
	done = false
	c.RepairOffsets(writer, "g", false, func(added, ended Code, err error) { done = err == nil })
	l.run(func() bool { return done })
	if l.count("AddOffsetsToTxn v3 + EndTxn v5 to 1") != 1 {
		t.Fatal(l.tail())
	}
}

// Offsets come back in the order asked, an unstable one marked at its own partition.
func TestOffsetFetchKeepsOrder(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		r, ok := req.(*kmsg.OffsetFetchRequest)
		if !ok {
			return nil, nil
		}
		resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
		g := kmsg.OffsetFetchResponseGroup{Group: r.Groups[0].Group}
		for _, x := range r.Groups[0].Topics {
			y := kmsg.OffsetFetchResponseGroupTopic{Topic: x.Topic}
			for _, p := range x.Partitions {
				z := kmsg.OffsetFetchResponseGroupTopicPartition{Partition: p, Offset: int64(p) * 10}
				if p == 1 {
					z.Offset, z.ErrorCode = -1, int16(UnstableOffsetCommit)
				}
				y.Partitions = append(y.Partitions, z)
			}
			g.Topics = append(g.Topics, y)
		}
		resp.Groups = append(resp.Groups, g)
		return resp, nil
	}
	parts := []id.TopicPartition{{Topic: "t", Partition: 3}, {Topic: "t", Partition: 1}, {Topic: "a", Partition: 2}}
	var got []Offset
	c.OffsetFetch("g", parts, true, func(o []Offset, code Code, err error) { got = o })
	l.run(func() bool { return got != nil })
	want := []Offset{{Topic: "t", Partition: 3, Offset: 30}, {Topic: "t", Partition: 1, Offset: -1, Code: UnstableOffsetCommit}, {Topic: "a", Partition: 2, Offset: 20}}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v", got)
	}
}

// A list of offsets is repeated for the partitions whose leader was another, until all are known.
func TestListOffsetsRepeatsWhatIsMissing(t *testing.T) {
	l, c := newFake(t, 4)
	for i, log := range l.cluster.logs {
		log.next = int64(i) * 10
	}
	bad := 2
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ListOffsetsRequest); ok && bad > 0 {
			bad--
			resp := l.cluster.process(0, req).(*kmsg.ListOffsetsResponse)
			resp.Topics[0].Partitions[0].ErrorCode = int16(FencedLeaderEpoch)
			_ = r
			return resp, nil
		}
		return nil, nil
	}
	parts := []id.TopicPartition{{Topic: "t", Partition: 3}, {Topic: "t", Partition: 0}, {Topic: "t", Partition: 2}, {Topic: "t", Partition: 1}}
	var got []ListedOffset
	c.ListOffsets(parts, Latest, ReadCommitted, func(o []ListedOffset, err error) { got = o })
	l.run(func() bool { return got != nil })
	for i, o := range got {
		if o.TopicPartition != parts[i] || o.Offset != int64(parts[i].Partition)*10 || o.Code != OK {
			t.Fatalf("%+v", got)
		}
	}
}

// A read gives up after its limit with the last reason, and does not hammer the brokers meanwhile.
func TestReadsGiveUp(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() == 3 {
			return nil, fmt.Errorf("no route: %w", broker.ErrNotSent)
		}
		return nil, nil
	}
	var failed error
	c.Topics([]string{"t"}, func(_ []Topic, err error) { failed = err })
	l.run(func() bool { return failed != nil })
	if at := time.Duration(l.now); at < defaultReadTimeout || at > defaultReadTimeout+2*time.Second || !errors.Is(failed, broker.ErrNotSent) {
		t.Fatal(at, failed)
	}
	if n := l.count("Metadata"); n < 50 || n > 140 {
		t.Fatalf("%d tries", n)
	}
}

// An older view, from a broker that lags, does not undo a newer one.
func TestOlderMetadataIsNotTaken(t *testing.T) {
	v := cluster{topics: map[string]*Topic{}}
	view := func(leader, epoch int32, topicID byte) Metadata {
		return Metadata{Topics: []Topic{{Name: "t", ID: [16]byte{topicID}, Partitions: []Partition{{Leader: leader, LeaderEpoch: epoch}}}}}
	}
	v.take(view(1, 5, 1))
	v.take(view(2, 4, 1))
	if node, epoch, _ := v.leader(id.TopicPartition{Topic: "t"}); node != 1 || epoch != 5 {
		t.Fatal(node, epoch)
	}
	v.take(view(2, 0, 9)) // created again: epochs begin anew
	if node, epoch, _ := v.leader(id.TopicPartition{Topic: "t"}); node != 2 || epoch != 0 {
		t.Fatal(node, epoch)
	}
}

// Groups hash to offsets partitions as in Kafka (String.hashCode).
func TestGroupsHashAsInKafka(t *testing.T) {
	for s, want := range map[string]int32{"": 0, "a": 97, "hello": 99162322, "polygenelubricants": 0, "é😀": 1_996_812} { // order irrelevant: each stands alone
		if got := javaHash(s); got != want {
			t.Fatalf("%q: %d, want %d", s, got, want)
		}
	}
}

// Codes print with Kafka's name, are found again in wrapped errors, and the table is sorted and complete in its classes.
func TestCodesHaveNamesAndClasses(t *testing.T) {
	if got := UnstableOffsetCommit.String(); got != "UNSTABLE_OFFSET_COMMIT (88)" {
		t.Fatal(got)
	}
	if err := fmt.Errorf("x: %w", ProducerFenced.Err()); !errors.Is(err, ProducerFenced) || OK.Err() != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(codes, func(a, b codeInfo) int { return int(a.code) - int(b.code) }) {
		t.Fatal("not sorted")
	}
	if c := Code(999); c.Class() != Refused || c.String() != "CODE (999)" {
		t.Fatal(c)
	}
}
