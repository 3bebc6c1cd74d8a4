package brokertest

// cases is the suite, in the order in which it runs: the log, transactions, offsets, introspection, repair.
var cases = []testCase{
	{name: "metadata names partitions, leaders and ids", run: metadataNames},
	{name: "every broker answers for itself", run: everyBrokerAnswers},
	{name: "versions show the transaction protocol", run: versionsShowProtocol},
	{name: "create twice is refused", run: createTwice},
	{name: "partitions can be added", run: addPartitions},
	{name: "configs are told", run: configsAreTold},
	{name: "records come back as they were written", run: roundTrip},
	{name: "every compression is read back", run: compressions},
	{name: "log append time is told and overwrites", run: logAppendTime},
	{name: "offsets by timestamp", run: offsetsByTimestamp},
	{name: "a fetch within a batch gets the batch", run: fetchWithinBatch},
	{name: "out of range is said", run: outOfRange},
	{name: "deleted records move the log start", run: deleteRecords},

	{name: "a repeated batch is answered and not appended", run: repeatedBatch},
	{name: "a gap in sequences is refused", run: sequenceGap},
	{name: "a stale epoch cannot produce", run: staleEpochProduce},

	{name: "a marker takes one offset", run: markerTakesOffset},
	{name: "the last stable offset holds at the first open transaction", run: lastStable},
	{name: "aborted records are listed", run: abortedListed},
	{name: "one byte is enough to learn of an abort", run: onlyAByte},
	{name: "interleaved transactions are read as decided", run: interleaved},

	{name: "init again bumps the epoch", run: initAgain},
	{name: "init of a bad timeout is refused", run: initBadTimeout},
	{name: "init aborts what is open and fences", run: initFences},
	{name: "init take-over bumps twice", run: takeOverBumpsTwice},
	{name: "a fenced commit is told apart", run: fencedCommit},
	{name: "end commit can be repeated", run: endRepeated(true)},
	{name: "end abort can be repeated", run: endRepeated(false)},
	{name: "commit after abort is refused", run: commitAfterAbort},
	{name: "commit of nothing is refused", run: commitOfNothing},
	{name: "end of an unknown id is refused", run: endUnknown},
	{name: "end with another's producer id is refused", run: endForeign},
	{name: "protocol 5 hands out the next epoch", run: nextEpoch},
	{name: "a late repeat of an end does not touch the next transaction", run: lateRepeat},
	{name: "protocol 4 without adding is refused", run: withoutAdding},
	{name: "protocol 4 works as a whole", run: protocolFour},
	{name: "an unknown partition is not added", run: unknownNotAdded},
	{name: "the timeout aborts", run: timeoutAborts},

	{name: "a marker is pending, then decided", run: markerDecided},
	{name: "pending is a matter of one partition", run: pendingPartition},
	{name: "a later plain commit wins", run: laterPlainWins},
	{name: "an unknown group has no offset", run: unknownGroup},
	{name: "metadata has its limit", run: metadataLimit},
	{name: "a stale epoch cannot mark", run: staleEpochMark},
	{name: "a refused mark leaves the pending one", run: refusedMark},
	{name: "a marker alone is a transaction", run: markerAlone},

	{name: "describe follows a transaction", run: describeFollows},
	{name: "describe lists the offsets partition", run: describeOffsets},
	{name: "describe of an unknown id", run: describeUnknown},
	{name: "list finds an id on one broker", run: listFinds},
	{name: "producers show what is open", run: producersShowOpen},
	{name: "the marker's epoch", run: markerEpoch},
	{name: "no coordinator epoch before the first marker", run: noCoordinatorEpoch},

	{name: "markers can be written by hand", run: markersByHand},
	{name: "two frames in one write are both answered", run: bothAnswered},
	{name: "offsets are repaired by two frames", run: offsetsRepaired},

	{name: "producer and fetcher work together", run: producerAndFetcher},
	{name: "a moved leader keeps the log", run: movedLeader, moves: true},
	{name: "a moved coordinator keeps the decision", run: movedCoordinator, moves: true},
}

// KfakeDeviations are the cases that kfake is known to fail.
var KfakeDeviations = []Deviation{
	{"init take-over bumps twice", "abort and one bump inside one call"},
	{"end with another's producer id is refused", "the producer id decides, the transactional id is not looked at"},
	{"pending is a matter of one partition", "88 for all partitions of the group"},
	{"a later plain commit wins", "the transaction's older value overwrites it at the commit"},
	{"an unknown group has no offset", "answers 69 for the group"},
	{"a stale epoch cannot mark", "answers 90 where Kafka answers 47"},
	{"describe follows a transaction", "states Empty and Ongoing only"},
	{"describe lists the offsets partition", "lists data partitions only"},
	{"the marker's epoch", "the marker of protocol 5 has the transaction's epoch, not the next"},
	{"no coordinator epoch before the first marker", "shows 0"},
	{"log append time is told and overwrites", "goes by the batch's attribute, not by the topic's setting"},
	{"metadata has its limit", "takes metadata of any length"},
	{"list finds an id on one broker", "every broker lists all ids"},
	{"markers can be written by hand", "DescribeProducers shows the coordinator's state, which a written marker does not end"},
}

// Kafka3Deviations are the cases that the group coordinator of Kafka 3, replaced in 4.0, fails.
var Kafka3Deviations = []Deviation{
	{"a refused mark leaves the pending one", "the pending offsets of a producer id and partition are forgotten with any mark of it that fails (seen on 3.9.2)"},
}
