package checker

// property is one thing that must be true of every run. Its name is part of a failure's signature.
type property struct {
	name    string
	verdict Verdict // unless a finding has its own
	judge   func(*judge)
}

// properties is the registry. A test removes each one in turn and must turn red.
var properties = []property{
	{"accepted", Refused, (*judge).accepted},
	{"no-panic", Invariant, (*judge).noPanic},
	{"same-hash", Nondeterministic, (*judge).sameHash},

	{"inputs-visible", Gap, (*judge).inputsVisible},
	{"reader-skips-nothing", Gap, (*judge).readerSkipsNothing},
	{"confirmed-is-committed", Gap, (*judge).confirmedIsCommitted},
	{"inputs-once", Dup, (*judge).inputsOnce},
	{"abandoned-is-invisible", Dup, (*judge).abandonedIsInvisible},
	{"reads-are-committed", AbortedRead, (*judge).readsAreCommitted},
	{"inputs-exist", AbortedRead, (*judge).inputsExist},
	{"reads-match-log", AbortedRead, (*judge).readsMatchLog},

	{"transactions-whole", Torn, (*judge).transactionsWhole},
	{"sinks-agree", Torn, (*judge).sinksAgree},
	{"key-order", Reorder, (*judge).keyOrder},
	{"sequence-rises", Reorder, (*judge).sequenceRises},
	{"state-is-fold", State, (*judge).stateIsFold},
	{"effects-once", EffectDup, (*judge).effectsOnce},

	{"late-drops", LateDrop, (*judge).lateDrops},
	{"losses-named", LoudLoss, (*judge).lossesNamed},
	{"losses-true", Invariant, (*judge).lossesTrue},
	{"losses-unrecoverable", Gap, (*judge).lossesUnrecoverable},
	{"losses-exact", Gap, (*judge).lossesExact},

	{"generations-rise", Invariant, (*judge).generationsRise},
	{"checkpoints-rise", Invariant, (*judge).checkpointsRise},
	{"confirmed-was-completed", Invariant, (*judge).confirmedWasCompleted},
	{"job-log-linearizable", Invariant, (*judge).jobLogLinearizable},
	{"transactions-sequential", Invariant, (*judge).transactionsSequential},

	{"settles", Stall, (*judge).settles},
	{"partitions-stable", Stall, (*judge).partitionsStable},
	{"transactions-owned", Stall, (*judge).transactionsOwned},
	{"stable-offset-advances", Stall, (*judge).stableOffsetAdvances},
	{"restarts-advance", CrashLoop, (*judge).restartsAdvance},

	{"all-decoded", Vacuous, (*judge).allDecoded},
	{"log-complete", Vacuous, (*judge).logComplete},
	{"reader-advances", Vacuous, (*judge).readerAdvances},
	{"read-to-the-end", Vacuous, (*judge).readToTheEnd},
	{"compared-something", Vacuous, (*judge).comparedSomething},
}

// Properties lists the names of all properties, in the order in which they are judged.
func Properties() []string {
	names := make([]string, len(properties))
	for i, p := range properties {
		names[i] = p.name
	}
	return names
}
