package simbroker

import "time"

// Profile says what a release of Kafka does differently. It is plain data: change a field to get a cluster that never
// existed.
type Profile struct {
	Name string

	// TransactionVersion is the finalized feature transaction.version, 0 to 2. Releases below 4.0 have no such feature.
	TransactionVersion int16
	// HasFeature tells whether ApiVersions lists transaction.version at all (4.0).
	HasFeature bool

	Verify        bool // a leader asks the coordinator before the first record of a transaction (3.6)
	VerifyOffsets bool // and so does a group coordinator (3.7)
	AbortableErr  bool // code 120 instead of 48 where the request's version allows it (3.8)
	FenceTwice    bool // an internal abort bumps the epoch twice (4.0.0)
	EpochBefore48 bool // a stale epoch is answered 47 before verification can answer 48 (KAFKA-19690)
	SeqZeroTV2    bool // a transaction of version 2 starts at sequence 0 on an unknown partition (4.1)
	MarkerStrict  bool // a marker of version 2 needs an epoch above the stored one (4.2)
	PersistPrev   bool // previous and next producer id survive a coordinator's fail-over (4.3)
	RotateOnFence bool // an internal abort at an exhausted epoch moves to a new producer id (4.3)
	AddPendFirst  bool // "pending" is tested before producer id and epoch in AddPartitionsToTxn (4.0)

	// DropMarkerNoLeader: a marker for a partition that has no leader is dropped, and the transaction completes
	// (4.3 and 4.4, KAFKA-20734).
	DropMarkerNoLeader bool

	// ForgetsPending: a refused transactional offset commit makes the group coordinator forget what the producer has
	// pending for those partitions, whatever its epoch (the coordinator before 4.0; seen on 3.9.2).
	ForgetsPending bool

	// ServerRetry is how long a leader repeats a server-side add that is answered "concurrent" (4.0: 100 ms).
	ServerRetry time.Duration

	// MaxEpoch is 32767 on a real broker; a small one reaches the rotation of producer ids.
	MaxEpoch int16

	// Highest versions offered of the requests in which releases differ.
	MaxProduce, MaxFetch, MaxInitProducerID, MaxAddPartitions, MaxAddOffsets, MaxEndTxn, MaxTxnOffsetCommit,
	MaxListTransactions, MaxWriteTxnMarkers, MaxOffsetCommit, MaxOffsetFetch int16
}

// ProfileNames lists the profiles that exist, newest first.
func ProfileNames() []string { return []string{"k44", "k43", "k41", "k400", "k39", "k35"} }

// ProfileOf is a profile by its name: k44 is Kafka 4.4, k400 is 4.0.0. A name may end in "-tv0" or "-tv1" for a cluster of
// that release whose feature transaction.version was not raised.
func ProfileOf(name string) (Profile, bool) {
	base, tv := name, int16(-1)
	if n := len(name); n > 4 && name[n-4:n-1] == "-tv" {
		base, tv = name[:n-4], int16(name[n-1]-'0')
	}
	p := release()
	switch base {
	case "k44":
		p.MaxTxnOffsetCommit, p.MaxOffsetCommit, p.MaxOffsetFetch = 6, 10, 10
	case "k43":
	case "k41":
		p.MarkerStrict, p.PersistPrev, p.RotateOnFence, p.DropMarkerNoLeader = false, false, false, false
		p.MaxWriteTxnMarkers = 1
	case "k400":
		p.MarkerStrict, p.PersistPrev, p.RotateOnFence, p.DropMarkerNoLeader = false, false, false, false
		p.FenceTwice, p.EpochBefore48, p.SeqZeroTV2 = true, false, false
		p.MaxProduce, p.MaxFetch, p.MaxListTransactions, p.MaxWriteTxnMarkers = 12, 17, 1, 1
	case "k39", "k35":
		p = Profile{
			Verify: true, VerifyOffsets: true, AbortableErr: true, EpochBefore48: true, MaxEpoch: 32767,
			ForgetsPending: true,
			MaxProduce:     11, MaxFetch: 17, MaxInitProducerID: 5, MaxAddPartitions: 5, MaxAddOffsets: 4, MaxEndTxn: 4,
			MaxTxnOffsetCommit: 4, MaxListTransactions: 1, MaxWriteTxnMarkers: 1, MaxOffsetCommit: 9, MaxOffsetFetch: 9,
		}
		if base == "k35" {
			p.Verify, p.VerifyOffsets, p.AbortableErr, p.EpochBefore48 = false, false, false, false
			p.MaxProduce, p.MaxFetch, p.MaxInitProducerID, p.MaxAddPartitions, p.MaxAddOffsets = 9, 15, 4, 3, 3
			p.MaxEndTxn, p.MaxTxnOffsetCommit, p.MaxListTransactions = 3, 3, 0
			p.MaxOffsetCommit, p.MaxOffsetFetch = 8, 8
		}
	default:
		return Profile{}, false
	}
	if tv >= 0 {
		if tv > 2 || !p.HasFeature {
			return Profile{}, false
		}
		p.TransactionVersion = tv
	}
	p.Name = name
	return p, true
}

// release is a new cluster of 4.3.
func release() Profile {
	return Profile{
		TransactionVersion: 2, HasFeature: true, Verify: true, VerifyOffsets: true, AbortableErr: true, EpochBefore48: true,
		SeqZeroTV2: true, MarkerStrict: true, PersistPrev: true, RotateOnFence: true, AddPendFirst: true,
		DropMarkerNoLeader: true, ServerRetry: 100 * time.Millisecond, MaxEpoch: 32767,
		MaxProduce: 13, MaxFetch: 18, MaxInitProducerID: 5, MaxAddPartitions: 5, MaxAddOffsets: 4, MaxEndTxn: 5,
		MaxTxnOffsetCommit: 5, MaxListTransactions: 2, MaxWriteTxnMarkers: 2, MaxOffsetCommit: 9, MaxOffsetFetch: 9,
	}
}
