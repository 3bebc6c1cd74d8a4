package brokertest

import (
	"fmt"
	"strings"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

// Release is what a release of Kafka is expected to do where releases differ. What depends on the cluster's
// transaction.version is asked of the cluster.
type Release struct {
	Version string

	VerifiesProduce bool // asks the coordinator before the first record of a transaction (3.6)
	VerifiesOffsets bool // and before its first offset (3.7)
	Abortable       bool // answers 120 where it answered 48 before (3.8)
	Protocol5       bool // knows EndTxn 5, Produce 12 and TxnOffsetCommit 5 (4.0)
	FencesTwice     bool // bumps the epoch twice when it aborts by itself at transaction.version 2 (4.0.0 only)
	FirstAtZero     bool // a transaction of protocol 5 starts at sequence 0 on a partition that does not know it (4.1)
	ForgetsPending  bool // a failed transactional offset commit forgets what was pending (before 4.0)
	KeepsStart      bool // shows the start of the last transaction after an init (before 4.1)
	ListsDuration   bool // ListTransactions filters by duration (3.8)
	ListsPattern    bool // and by pattern (4.1)
	HoldsHigh       bool // the high watermark waits while too few replicas are in sync (3.7; KAFKA-15583)
	DescribesTopics bool // answers DescribeTopicPartitions (3.8)
	Eligible        bool // a new cluster has eligible leader replicas (4.1; KIP-966)
	PendingFirst    bool // answers 51 before it looks at producer id and epoch in AddPartitionsToTxn (4.0)

	offers []offer
}

// offer is the highest version of a request by which a release is told from others.
type offer struct{ key, max int16 }

const (
	produceKey         = 0
	offsetFetchKey     = 9
	endTxnKey          = 26
	writeTxnMarkersKey = 27
	txnOffsetCommitKey = 28
)

// The releases.
var (
	Kafka35 = Release{Version: "3.5", KeepsStart: true, ForgetsPending: true, offers: []offer{{produceKey, 9}}}
	Kafka37 = Release{
		Version: "3.7", KeepsStart: true, HoldsHigh: true, VerifiesProduce: true, VerifiesOffsets: true, ForgetsPending: true,
		offers: []offer{{produceKey, 10}},
	}
	Kafka39 = Release{
		Version: "3.9", KeepsStart: true, HoldsHigh: true, DescribesTopics: true,
		VerifiesProduce: true, VerifiesOffsets: true, Abortable: true, ForgetsPending: true,
		ListsDuration: true, offers: []offer{{produceKey, 11}},
	}
	Kafka400 = Release{
		Version: "4.0.0", KeepsStart: true, HoldsHigh: true, DescribesTopics: true,
		VerifiesProduce: true, VerifiesOffsets: true, Abortable: true, Protocol5: true, FencesTwice: true,
		ListsDuration: true, PendingFirst: true, offers: []offer{{produceKey, 12}},
	}
	Kafka40 = Release{
		Version: "4.0", KeepsStart: true, HoldsHigh: true, DescribesTopics: true,
		VerifiesProduce: true, VerifiesOffsets: true, Abortable: true, Protocol5: true,
		ListsDuration: true, PendingFirst: true, offers: []offer{{produceKey, 12}},
	}
	Kafka41 = Release{
		Version: "4.1", HoldsHigh: true, DescribesTopics: true, Eligible: true,
		VerifiesProduce: true, VerifiesOffsets: true, Abortable: true, Protocol5: true, FirstAtZero: true,
		ListsDuration: true, ListsPattern: true, PendingFirst: true, offers: []offer{{produceKey, 13}, {writeTxnMarkersKey, 1}},
	}
	Kafka42 = Release{
		Version: "4.2", HoldsHigh: true, DescribesTopics: true, Eligible: true,
		VerifiesProduce: true, VerifiesOffsets: true, Abortable: true, Protocol5: true, FirstAtZero: true,
		ListsDuration: true, ListsPattern: true, PendingFirst: true, offers: []offer{{writeTxnMarkersKey, 2}, {offsetFetchKey, 9}},
	}
	Kafka44 = Release{
		Version: "4.4", HoldsHigh: true, DescribesTopics: true, Eligible: true,
		VerifiesProduce: true, VerifiesOffsets: true, Abortable: true, Protocol5: true, FirstAtZero: true,
		ListsDuration: true, ListsPattern: true, PendingFirst: true, offers: []offer{{writeTxnMarkersKey, 2}, {txnOffsetCommitKey, 6}},
	}
)

// ReleaseOf is what is expected of a version such as 4.1.2 or a profile such as k400-tv1.
func ReleaseOf(version string) (Release, error) {
	v, _, _ := strings.Cut(version, "-")
	if digits, ok := strings.CutPrefix(v, "k"); ok {
		v = strings.Join(strings.Split(digits, ""), ".")
	}
	for _, x := range []struct {
		prefix string
		r      Release
	}{
		{"3.5", Kafka35},
		{"3.7", Kafka37},
		{"3.9", Kafka39},
		{"4.0.0", Kafka400},
		{"4.0", Kafka40},
		{"4.1", Kafka41},
		{"4.2", Kafka42},
		{"4.3", Kafka42},
		{"4.4", Kafka44},
	} {
		if v == x.prefix || strings.HasPrefix(v, x.prefix+".") {
			return x.r, nil
		}
	}
	return Release{}, fmt.Errorf("nothing is known of Kafka %q: name one of 3.5, 3.7, 3.9, 4.0.0, 4.0, 4.1, 4.2, 4.3, 4.4", version)
}

// Recognise is the release of a cluster by the versions that it offers, which cannot tell 4.0.0 from what follows it.
func Recognise(b stage.Backend) (found Release, err error) {
	err = stage.Run(b, 0, func(t *stage.T) {
		for _, r := range []Release{Kafka35, Kafka37, Kafka39, Kafka40, Kafka41, Kafka42, Kafka44} {
			if r.offered(t.Features) {
				found = r
				return
			}
		}
		t.Fail("no known release offers %v", t.Features.MaxVersions)
	})
	return found, err
}

func (r Release) offered(f kafka.Features) bool {
	for _, o := range r.offers {
		if f.Max(o.key) != o.max {
			return false
		}
	}
	return true
}

// Matches says whether a cluster offers what the release does.
func (r Release) Matches(b stage.Backend) error {
	return stage.Run(b, 0, func(t *stage.T) {
		t.Check(r.offered(t.Features), "the cluster is not Kafka %s: it offers %v", r.Version, t.Features.MaxVersions)
	})
}
