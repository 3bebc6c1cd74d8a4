package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func (r *rig) versionsOf(node int32) *kmsg.ApiVersionsResponse {
	q := kmsg.NewPtrApiVersionsRequest()
	q.Version = 3
	q.ClientSoftwareName, q.ClientSoftwareVersion = "test", "1"
	return ask1[*kmsg.ApiVersionsResponse](r, node, q)
}

func maxOf(resp *kmsg.ApiVersionsResponse, key int16) int16 {
	for _, k := range resp.ApiKeys {
		if k.ApiKey == key {
			return k.MaxVersion
		}
	}
	return -1
}

// A broker has another release from its next start on, and only it.
func TestBrokersRunTheirOwnRelease(t *testing.T) {
	r := newRig(t, 1, "k41")
	to, _ := ProfileOf("k44")
	equal(t, "accepted", r.c.SetProfile(1, to), true)
	equal(t, "not yet", maxOf(r.versionsOf(1), 28), 5)
	r.c.Node(1).Crash()
	r.c.Node(1).Start()
	r.w.RunFor(5 * time.Second)
	equal(t, "now", maxOf(r.versionsOf(1), 28), 6)
	equal(t, "the others", maxOf(r.versionsOf(0), 28), 5)
	equal(t, "name", r.c.ProfileOf(1).Name, "k44")
	equal(t, "highest epoch", r.c.ProfileOf(1).MaxEpoch, r.c.ProfileOf(0).MaxEpoch)
	old, _ := ProfileOf("k39")
	equal(t, "a release without the feature", r.c.SetProfile(2, old), false)
}

// The level of the feature is the cluster's: refused while a broker does not know it, and then heard of by one broker after
// the other.
func TestLevelIsRaised(t *testing.T) {
	r := newRig(t, 1, "k39", func(c *Config) { c.Visible = Span{50 * time.Millisecond, 500 * time.Millisecond} })
	equal(t, "refused", r.c.Finalize(2), false)
	to, _ := ProfileOf("k44")
	for i := range 3 {
		r.c.SetProfile(i, to)
		if i < 2 {
			r.c.Node(i).Crash()
			r.c.Node(i).Start()
			r.w.RunFor(time.Second)
		}
	}
	equal(t, "one is left", r.c.Finalize(2), false)
	r.c.Node(2).Crash()
	r.c.Node(2).Start()
	r.w.RunFor(5 * time.Second)
	equal(t, "level 0 is not shown", len(r.versionsOf(0).FinalizedFeatures), 0)
	equal(t, "no such level", r.c.Finalize(3), false)
	equal(t, "raised", r.c.Finalize(2), true)
	equal(t, "controller", r.c.TransactionVersion(), 2)
	heard := func() (n int) {
		for _, b := range r.c.brokers {
			if b.level() == 2 {
				n++
			}
		}
		return n
	}
	equal(t, "nobody at once", heard(), 0)
	r.w.RunFor(time.Second)
	equal(t, "all", heard(), 3)
	f := r.versionsOf(1)
	equal(t, "shown", f.FinalizedFeatures[0].MaxVersionLevel, 2)
	equal(t, "epoch of the features", f.FinalizedFeaturesEpoch, 2)
}

// A transaction that began in the old protocol ends in it after the level was raised, and the next one may be of the new
// protocol after the epoch has moved.
func TestProtocolChangesBetweenTransactions(t *testing.T) {
	r := newRig(t, 1, "k44-tv1")
	x := r.open("a", 11)
	r.c.Finalize(2)
	r.w.RunFor(time.Second)
	equal(t, "commit", r.end(4, x, true).ErrorCode, ok)
	r.settle()
	y := r.open("a", 12)
	equal(t, "next", r.end(5, y, true).ErrorCode, ok)
	r.settle()
	sameStrings(t, "both", r.committed(0), "x", "x")
}

// KAFKA-20322: a coordinator of 4.2.0 does not ask what the other broker knows, and its markers never arrive at an older
// one; with 4.2.1 they do.
func TestMarkersBetweenReleases(t *testing.T) {
	for _, negotiates := range []bool{true, false} {
		r := newRig(t, 1, "k41")
		to, _ := ProfileOf("k42")
		to.NegotiateMarkers = negotiates
		x := r.open("a", 12)
		at := (r.c.Leader("out", 0) + 1) % 3
		r.c.SetProfile(at, to)
		r.c.Node(at).Crash()
		r.c.Node(at).Start()
		r.w.RunFor(6 * time.Second)
		r.c.MoveCoordinator("a", at)
		r.w.RunFor(time.Second)
		equal(t, "commit", r.end(5, x, true).ErrorCode, ok)
		r.w.RunFor(5 * time.Second)
		want := PrepareCommit
		if negotiates {
			want = CompleteCommit
		}
		equal(t, "state", r.state("a"), want)
	}
}
