package brokertest

// cases is the suite, in the order in which it runs: the properties, the log, transactions, offsets, repair; brokers that go.
var cases = []testCase{
	{number: 1, name: "init of a new id, again, with bad arguments", look: initNew},
	{number: 2, name: "init while a transaction is open", look: initOngoing},
	{number: 3, name: "init with an expected identity", look: initExpected},
	{number: 4, name: "an unknown partition keeps the others out", look: addUnknown},
	{number: 5, name: "a transaction opened by a record or an offset", look: openImplicit},
	{number: 6, name: "a record for a partition that was not added", look: openWithoutAdd},
	{number: 7, name: "ends up to version 4, as a matrix", look: endOld},
	{number: 8, name: "ends of version 5, as a matrix", look: endNew},
	{number: 9, name: "ids and producer ids that do not belong together", look: lookup},
	{number: 10, name: "the identity that follows an end", look: nextIdentity},
	{number: 11, name: "abort by timeout", look: timeoutAborts},
	{number: 12, name: "repeats of an end whose answer was lost", look: endRepeats},
	{number: 13, name: "a repeat of an end in the next transaction", look: lateRepeat},
	{number: 14, name: "sequences, epochs and the window of five", look: window},
	{number: 15, name: "the first sequence of an unknown producer", look: firstSequence},
	{number: 16, name: "a batch outside of an open transaction", look: mixedBatch},
	{number: 17, name: "one marker for each partition and no other", look: markerAccounting},
	{number: 18, name: "the last stable offset", look: lastStable},
	{number: 19, name: "committed reads from any offset", look: readCommitted},
	{number: 20, name: "offsets inside a transaction", look: txnOffsets},
	{number: 21, name: "zombies", look: zombies},
	{number: 22, name: "the coordinator moves during an end", look: movedCoordinator, moves: true},
	{number: 23, name: "ids expire", look: idExpires},
	{number: 24, name: "descriptions and lists agree", look: introspection},

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

	{name: "one byte is enough to learn of an abort", run: onlyAByte},

	{name: "protocol 4 works as a whole", run: protocolFour},

	{name: "metadata has its limit", run: metadataLimit},

	{name: "markers can be written by hand", run: markersByHand},
	{name: "two frames in one write are both answered", run: bothAnswered},
	{name: "offsets are repaired by two frames", run: offsetsRepaired},

	{name: "producer and fetcher work together", run: producerAndFetcher},

	// The last one, since it kills brokers.
	{number: 25, name: "the leader moves, and the bounds of a log", look: movedLeader, moves: true},
}
