package simbroker

import "time"

// Profile says what a release of Kafka does differently. It is plain data: change a field to get a cluster that never
// existed.
type Profile struct {
	Name string

	// TransactionVersion is the finalized feature transaction.version that a new cluster of the release has, 0 to 2. The
	// feature belongs to the cluster: see Cluster.Finalize. Releases below 4.0 have no such feature.
	TransactionVersion int16
	// HasTransactionVersion tells whether ApiVersions lists transaction.version at all.
	HasTransactionVersion bool
	// ELR tells whether a new cluster of the release has the feature eligible.leader.replicas.version on, and HasELR whether
	// the release knows it. The feature belongs to the cluster: one that is upgraded keeps it off. See Cluster.EnableELR.
	ELR, HasELR bool

	Verify        bool // a leader asks the coordinator before the first record of a transaction
	VerifyOffsets bool // and so does a group coordinator
	AbortableErr  bool // code 120 instead of 48 where the request's version allows it
	FenceTwice    bool // an internal abort under version 2 bumps the epoch twice
	EpochBefore48 bool // a batch of a stale epoch without its guard is answered 47, not 48, when it is appended
	EpochNoGuard  bool // a batch of a stale epoch is answered 47 before a guard is made for it
	SeqZeroTV2    bool // a transaction of version 2 starts at sequence 0 on an unknown partition
	MarkerStrict  bool // a marker of version 2 needs an epoch above the stored one
	PersistPrev   bool // previous and next producer id survive a coordinator's fail-over
	RotateOnFence bool // an internal abort at an exhausted epoch moves to a new producer id
	HWNeedsMinISR bool // the high watermark waits while too few replicas are in sync
	AddPendFirst  bool // "pending" is tested before producer id and epoch in AddPartitionsToTxn

	// DropMarkerNoLeader: a marker for a partition that has no leader is dropped, and the transaction completes.
	DropMarkerNoLeader bool

	// NegotiateMarkers: a coordinator asks which version of WriteTxnMarkers the other broker knows. One that does not
	// sends its own highest, and a broker of an older release hangs up.
	NegotiateMarkers bool

	// OpenByEpoch: a transaction counts as open on a partition only for the epoch that opened it. Otherwise a batch of any
	// epoch of an open producer is not verified, and one of a higher epoch with sequence 0 joins.
	OpenByEpoch bool

	// StableAtBatch: where records of an open transaction were deleted up to the middle of a batch, the last stable offset
	// is the beginning of that batch, below the start of the log. Otherwise it is the start.
	StableAtBatch bool

	// KeepsRefusedGroup: a transactional offset commit makes its group, even when it is refused.
	KeepsRefusedGroup bool

	// DropsEmptyGroup: when the last offset of a group is deleted, the group is gone.
	DropsEmptyGroup bool

	// ForgetsPending: a refused transactional offset commit makes the group coordinator forget what the producer has
	// pending for those partitions, whatever its epoch.
	ForgetsPending bool

	// KeepsStart: DescribeTransactions shows the start of the last transaction after an init.
	KeepsStart bool

	// DropsPendingGroup: the expiry of offsets deletes a group that has only pending ones.
	DropsPendingGroup bool

	// ServerRetry is how long a leader repeats a server-side add that is answered "concurrent".
	ServerRetry time.Duration

	// MaxEpoch is 32767 on a real broker; a small one reaches the rotation of producer ids.
	MaxEpoch int16

	// Versions are the ranges of the requests that the release offers, by API key. They are shared: replace, never change.
	Versions []VersionRange
}

// releases are those that have a profile, oldest first, each with the version whose brokers it was compared with.
var releases = []struct{ name, version string }{
	{"k35", "3.5.2"},
	{"k37", "3.7.2"},
	{"k39", "3.9.2"},
	{"k400", "4.0.0"},
	{"k401", "4.0.2"},
	{"k41", "4.1.2"},
	{"k42", "4.2.1"},
	{"k43", "4.3.1"},
	{"k44", "4.4.0"},
}

// change is something that a release brought, and perhaps another one took away.
type change struct {
	since, until string // of releases; until "" is still there
	what         string
	apply        func(*Profile)
}

// changes is what sets the releases apart.
var changes = []change{
	{"k35", "k400", "the group coordinator in Scala", func(p *Profile) { p.ForgetsPending, p.KeepsRefusedGroup, p.DropsEmptyGroup = true, true, true }},
	{"k35", "k41", "the start of a transaction survives an init in memory", func(p *Profile) { p.KeepsStart = true }},
	{"k37", "", "KIP-890 part 1: partition verification (3.6)", func(p *Profile) { p.Verify = true }},
	{"k37", "", "the same for offsets (3.7)", func(p *Profile) { p.VerifyOffsets = true }},
	{"k37", "", "KAFKA-15583: strict minimum of the ISR (3.7)", func(p *Profile) { p.HWNeedsMinISR = true }},
	{"k39", "", "TRANSACTION_ABORTABLE (3.8)", func(p *Profile) { p.AbortableErr = true }},
	{"k39", "k400", "KAFKA-19690 when a batch is appended (3.9.2)", func(p *Profile) { p.EpochBefore48 = true }},
	{"k400", "", "KIP-890 part 2: transaction.version 2", func(p *Profile) { p.HasTransactionVersion, p.TransactionVersion = true, 2 }},
	{"k400", "", "KIP-966: eligible leader replicas, if they are turned on", func(p *Profile) { p.HasELR = true }},
	{"k41", "", "KIP-966: they are on in a new cluster", func(p *Profile) { p.ELR = true }},
	{"k400", "", "repeats of a concurrent add on the server", func(p *Profile) { p.ServerRetry = 100 * time.Millisecond }},
	{"k400", "", "verification looks at the epoch", func(p *Profile) { p.OpenByEpoch = true }},
	{"k400", "", "the position of the log's start is that of its batch", func(p *Profile) { p.StableAtBatch = true }},
	{"k400", "", "pending first in AddPartitionsToTxn", func(p *Profile) { p.AddPendFirst = true }},
	{"k400", "k401", "KAFKA-19367: a fencing abort bumps twice", func(p *Profile) { p.FenceTwice = true }},
	{"k400", "k401", "KAFKA-19163: groups with only pending offsets", func(p *Profile) { p.DropsPendingGroup = true }},
	{"k401", "", "KAFKA-19690 when a batch is appended (4.0.2)", func(p *Profile) { p.EpochBefore48 = true }},
	{"k41", "", "KAFKA-19690 before a guard is made (4.1.1)", func(p *Profile) { p.EpochNoGuard = true }},
	{"k41", "", "KAFKA-18202: first sequence of an unknown producer", func(p *Profile) { p.SeqZeroTV2 = true }},
	{"k42", "", "KIP-1228: markers carry the transaction version", func(p *Profile) { p.MarkerStrict = true }},
	{"k42", "", "KAFKA-20322: negotiated markers (4.2.1)", func(p *Profile) { p.NegotiateMarkers = true }},
	{"k43", "", "KAFKA-20310: producer ids persisted", func(p *Profile) { p.PersistPrev = true }},
	{"k43", "", "KAFKA-20090: exhaustion in a fencing abort", func(p *Profile) { p.RotateOnFence = true }},
	{"k43", "", "KAFKA-20734: markers without a leader dropped", func(p *Profile) { p.DropMarkerNoLeader = true }},
}

// ProfileNames lists the profiles that exist, newest first.
func ProfileNames() []string {
	names := make([]string, len(releases))
	for i := range releases {
		names[len(releases)-1-i] = releases[i].name
	}
	return names
}

// ProfileVariants lists every profile with each transaction.version that it can have, newest first: k44, k44-tv1, k44-tv0.
func ProfileVariants() []string {
	var names []string
	for _, n := range ProfileNames() {
		names = append(names, n)
		if p, _ := ProfileOf(n); p.HasTransactionVersion {
			names = append(names, n+"-tv1", n+"-tv0")
		}
	}
	return names
}

// ProfilesFrom lists the release of a profile and those after it, oldest first: what its brokers may be upgraded to.
func ProfilesFrom(name string) []string {
	if n := len(name); n > 4 && name[n-4:n-1] == "-tv" {
		name = name[:n-4]
	}
	var names []string
	for i := releaseNumber(name); i >= 0 && i < len(releases); i++ {
		names = append(names, releases[i].name)
	}
	return names
}

// ProfileOf is a profile by its name: k44 is Kafka 4.4, k400 is 4.0.0, k401 the fixed 4.0 (4.0.2). A name may end in
// "-tv0", "-tv1" or "-tv2" for a cluster of that release with this level of the feature transaction.version, where the
// release has the feature.
func ProfileOf(name string) (Profile, bool) {
	base, tv := name, int16(-1)
	if n := len(name); n > 4 && name[n-4:n-1] == "-tv" {
		base, tv = name[:n-4], int16(name[n-1]-'0')
	}
	at := releaseNumber(base)
	if at < 0 {
		return Profile{}, false
	}
	p := Profile{Name: name, MaxEpoch: 32767, Versions: offered[releases[at].version]}
	for _, c := range changes {
		if releaseNumber(c.since) <= at && (c.until == "" || at < releaseNumber(c.until)) {
			c.apply(&p)
		}
	}
	if tv >= 0 {
		if tv > 2 || !p.HasTransactionVersion {
			return Profile{}, false
		}
		p.TransactionVersion = tv
	}
	return p, true
}

// releaseNumber is the place of a release among those that there are; -1 if it is none.
func releaseNumber(name string) int {
	for i := range releases {
		if releases[i].name == name {
			return i
		}
	}
	return -1
}
