// Package brokerfuzz asks clusters random questions and compares what they say: the simulated broker is worth what real
// Kafka agrees to.
//
// A Sequence is what a few producers do to one topic and one group, one operation after the other. It is a value: drawn from
// a seed, printed and parsed. It runs over broker.Requests, so on any cluster, and makes a Transcript: per operation the
// answer, and after the operation, when nothing moves any more (settled), what has changed in the state that a client can
// see. Each sequence has names of its own, so that thousands share a cluster. What differs from run to run is written
// symbolically: producer ids p0, p1 in the order of appearance, offsets partitions by their group, coordinator epochs
// relative to the first one; no times.
//
// # Text form
//
// One operation per line, # begins a comment. A transcript is the same text with the answers below each operation, further
// in and marked with a bar; reading a sequence skips them, so a transcript file repeats itself.
//
//	onefold sequence 1
//	partitions 2
//	producer a id t0 protocol 5 timeout 60s
//	producer b id t0 protocol 4 timeout 2s
//	producer c id none protocol 5 timeout 60s
//	init a
//	  | 0 p0/0
//	  | t0 Empty p0/0
//	produce a 0 next
//	  | 0 offset 0
//	  | t0 Ongoing p0/0 in 0
//	  | 0: 0 p0/0 seq 0 transactional 2.0
//	  | 0: start 0 stable 0 high 1, producers p0/0 last 0 open 0
//	end a commit
//	init b
//	produce a 0 next              # of a producer that was fenced
//	repeat 2                      # the request before the last one, byte for byte
//	end b abort as previous
//
// The operations and what may stand behind them (names of partitions are their numbers):
//
//	init P [expect WHO]                          InitProducerId; without expect as a new incarnation
//	add P PARTITION                              AddPartitionsToTxn; unknown adds one that does not exist besides
//	offsets P [as WHO]                           AddOffsetsToTxn
//	produce P PARTITION SEQUENCE [KIND] [as WHO] [records N]
//	mark P PARTITION [as WHO]                    TxnOffsetCommit of an offset of the partition
//	commit PARTITION                             OffsetCommit
//	end P commit|abort [as WHO]                  EndTxn
//	repeat N                                     the request N before, byte for byte
//	wait                                         until every transaction with a short timeout is over
//	restart P                                    the producer forgets what it is
//	delete-records PARTITION AT                  AT: a number, high, beyond
//	fetch PARTITION committed|uncommitted AT     AT: a number, start, high, beyond
//	list-offsets PARTITION committed|uncommitted earliest|latest|time|future
//	offset-fetch stable|unstable [all]
//	describe P, list P, producers PARTITION      DescribeTransactions, ListTransactions, DescribeProducers
//	marker P PARTITION commit|abort [as WHO] [coordinator same|older|newer]    WriteTxnMarkers
//	delete-group, delete-offset PARTITION
//	move-leader PARTITION, move-coordinator P    on clusters of several brokers
//
// WHO is current, previous, older, ahead (the epoch, relative to what the producer was told last) or foreign (another
// producer id); SEQUENCE is next, dup, gap, old, zero; KIND is transactional, idempotent, plain. Behind any operation of a
// producer, "protocol 3|4|5" overrides the producer's generation of requests: 3 are those of old clients, 4 those before
// transaction.version 2, 5 those of it.
package brokerfuzz
