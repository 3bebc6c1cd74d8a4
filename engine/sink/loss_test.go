package sink

import (
	"errors"
	"fmt"
	"testing"

	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

func someToken() token.Token {
	return token.Token{
		Sink: "s", Checkpoint: 7, TransactionalID: "t",
		Ranges: []token.Range{{Topic: "out", First: 10, Last: 14, Count: 4}}, // of five offsets one is a gap
	}
}

// If this failed, a loss would name records that are there, or, where the rest cannot be read, too few.
func TestPartBelow(t *testing.T) {
	whole := someToken()
	for _, c := range []struct {
		rest RangeRead
		want token.Range
	}{
		{RangeRead{RangeSum: kafka.RangeSum{Count: 2}}, token.Range{Topic: "out", First: 10, Last: 12, Count: 2}},
		{RangeRead{Err: errors.New("out of range"), Gone: true}, whole.Ranges[0]},
	} {
		got := partBelow(func(e Effect) Fact {
			if r, ok := e.(ReadRange); !ok || r.Token.Ranges[0].First != 13 || r.Token.Ranges[0].Last != 14 {
				t.Errorf("asked %v", e)
			}
			return c.rest
		}, whole, 0, 13)
		if got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.rest, got, c.want)
		}
	}
	if whole.Ranges[0].First != 10 {
		t.Error("the token was changed")
	}
}

// If this failed, a job that stopped over a loss would go on when it is started again, or repeat an older report of it.
func TestWithStanding(t *testing.T) {
	item := func(last, count int64) joblog.LostRange {
		return joblog.LostRange{Token: someToken(), Range: token.Range{Topic: "out", First: 10, Last: last, Count: count}}
	}
	reports := func(accepted bool, items ...joblog.LostRange) joblog.Loss {
		return joblog.Loss{Checkpoint: 7, Accepted: accepted, Items: items}
	}
	other := reports(false, item(12, 2))
	other.Checkpoint = 6
	for _, c := range []struct {
		name  string
		found []joblog.LostRange
		log   []joblog.Loss
		want  []int64 // counts
	}{
		{"nothing", nil, nil, nil},
		{"of another checkpoint", nil, []joblog.Loss{other}, nil},
		{"stands", nil, []joblog.Loss{reports(false, item(12, 2))}, []int64{2}},
		{"found again", []joblog.LostRange{item(13, 3)}, []joblog.Loss{reports(false, item(12, 2))}, []int64{3}},
		{"the last report", nil, []joblog.Loss{reports(false, item(12, 2)), reports(false, item(13, 3))}, []int64{3}},
		{"accepted", nil, []joblog.Loss{reports(false, item(12, 2)), reports(true, item(12, 2))}, nil},
		{"found after it was accepted", nil, []joblog.Loss{reports(true, item(12, 2)), reports(false, item(13, 3))}, []int64{3}},
	} {
		got := withStanding(c.found, c.log, 7)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		for i := range got {
			if got[i].Range.Count != c.want[i] {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
	}
}

// If this failed, what retention takes between the survey and the marker would be lost unnamed, or what was visible first
// would be named.
func TestDeletedSince(t *testing.T) {
	item := func(last int64) joblog.LostRange {
		return joblog.LostRange{Token: someToken(), Range: token.Range{Topic: "out", First: 10, Last: last, Count: last - 9}}
	}
	pending, ended := Finding{Token: someToken()}, Finding{Token: someToken()}
	pending.Verdict, ended.Verdict = Pending, Committed
	for _, c := range []struct {
		name        string
		lost        []joblog.LostRange
		found       Finding
		deleted     []joblog.LostRange
		last, total int64
	}{
		{"all of it since", nil, pending, []joblog.LostRange{item(14)}, 14, 1},
		{"more of it since", []joblog.LostRange{item(11)}, pending, []joblog.LostRange{item(14)}, 14, 1},
		{"nothing since", []joblog.LostRange{item(11)}, pending, nil, 11, 1},
		{"visible first", nil, ended, []joblog.LostRange{item(14)}, 0, 0},
	} {
		got := deletedSince(c.lost, []Finding{c.found}, c.deleted)
		if int64(len(got)) != c.total || c.total > 0 && got[0].Range.Last != c.last {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Records that are not there, or not readable, are a loss that is told; brokers that do not answer have lost nothing and are asked
// again for as long as it takes.
func TestWhatIsGone(t *testing.T) {
	for err, gone := range map[error]bool{
		nil:                                      false,
		kafka.OffsetOutOfRange:                   true,
		kafka.UnknownTopicOrPartition:            true,
		kafka.UnknownTopicID:                     true,
		fmt.Errorf("at 7: %w", kafka.ErrCorrupt): true,
		errRangeEnds:                             true,
		kafka.NotLeaderOrFollower:                false,
		kafka.RequestTimedOut:                    false,
		errors.New("connection refused"):         false,
	} {
		if got := rangeRead(kafka.RangeSum{}, err); got.Gone != gone || !errors.Is(got.Err, err) {
			t.Errorf("%v: %+v", err, got)
		}
	}
}
