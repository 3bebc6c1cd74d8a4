// Package simbroker is a Kafka cluster in the simulated world, behind the port broker.Requests.
//
// Requests and responses are the kmsg structs of real Kafka, and each of them is a message between two nodes: it can be
// late, lost or repeated, its answer too. The folder is the index: a request is handled in the file that carries its API
// key. What a request does has the order of checks, the error codes and the asynchronous steps of Apache Kafka, for the
// releases that a Profile describes. It must never be kinder than the real broker: an answer of success comes before
// markers are written, a retry may be answered "concurrent", a marker may be dropped on releases that drop them.
//
//	Cluster    topics, leaders and brokers: what the controller knows
//	partition  its replicas, who leads them and which are in sync, and who waits for them
//	log        batches, segments, terms of leaders; in its ledger what follows from them: producers and transactions
//	shard      one partition of __transaction_state: the transaction coordinator for the ids that hash to it
//	group      committed and pending offsets, in a partition of __consumer_offsets
//	Broker     one process: connections, and the requests that it is working on
//	client     the port of one loop of another node: a connection per broker, in order, until it breaks
//
// # Releases
//
// A Profile is what a release of Kafka does differently, as plain data: the table of changes in profile.go says what came and
// went with which release, testdata/versions.txt which versions of which requests each offers, as real brokers answered. Each
// broker runs a profile of its own, so a cluster can be upgraded broker by broker, while the level of transaction.version
// belongs to the cluster (SetProfile, Finalize).
//
// What a profile says is compared with real brokers in four ways: the properties of engine/broker/brokertest are the same
// script on both, engine/broker/brokerfuzz draws operations and compares each answer, package reference replays what that
// recorded on each release, and scenarios/hazard shows each hazard where, and only where, it is. Whoever doubts one answer
// writes the operations down as in testdata/traces/sequences.txt and has a real broker do them:
// .ci/fuzz compare --sequence FILE.
//
// A release more, as k45 of 4.5.0, is
//
//  1. a line in releases (profile.go), and in changes whatever it brings: nothing, until a comparison says otherwise;
//  2. a column of testdata/versions.txt, whose head has the command;
//  3. its name in scenarios/hazard/where.go, in engine/broker/brokertest/release.go with what is expected of it, and in .ci/fuzz;
//  4. make conformance, make fuzz and make hazards with KAFKA_VERSION=4.5.0. What differs is a new field of Profile, a line of
//     changes, and a field of brokertest.Release where a property shows it;
//  5. make record KAFKA_VERSION=4.5.0 for its trace; the lines that make hazards printed go into scenarios/hazard/recorded.go, and
//     go test ./scenarios/hazard -run TestHazards -rewrite prints the table anew.
//
// # Coordinators
//
// What a coordinator decides is in force when it is in its log, at the end of which records may be that are not known to be on
// all replicas in sync: such an append is reported as failed, and the next coordinator may load it all the same (txnlog.go).
// One that is replaced while its broker lives goes on for a moment from memory, with markers of its old epoch (stale.go). An
// answer that nobody waits for any more is kept for those who ask what a late request did (late.go).
//
// # Replicas
//
// A partition has as many copies as Config.Replication or its topic say. Followers fetch from the leader, which takes a
// drawn time; the high watermark is what all replicas in sync have, and it does not move while they are fewer than
// min.insync.replicas (since 3.7, with eligible leader replicas or without). Readers see what is below it, or below the
// last stable offset: the first record of a transaction that is open, or whose marker is not below the high watermark
// yet. A follower that has not caught up for Config.ReplicaLag leaves the ISR, one that a controller fences leaves it at
// once; it returns when it has caught up.
//
// A new leader is the first replica in sync that lives, in their order; without one a partition has no leader, unless its
// topic or the cluster allows an unclean election. Where the cluster has eligible leader replicas (from 4.1 on, if it is
// not an upgraded one) the last replica in sync leaves the ISR as well, and those that left it below the minimum may lead
// when it is empty: see eligible.go. They have all that was visible. The new leader goes on with its own copy: what is
// above the old high watermark may be gone, and after an unclean election also what was acknowledged, records and
// markers. The others truncate to where terms part. A new leader knows an older high watermark at first, so that what
// readers see can go back for a moment; ListOffsets answers 78 until it knows better.
//
// With one copy an append is committed at once, nothing waits, and the partition has no leader while its broker is down.
// Partitions of __consumer_offsets with one copy move to another broker after a while, as if they had more.
//
// Everything appended is on the disk of its replica: a crash takes what a broker has in memory only, which is connections,
// verification guards, pending transitions, waiting fetches and writers. A copy shares its log with the leader's as far as
// both are the same, so that replication costs an event for some appends and no bytes.
//
// # What happens to a log once in a while
//
// Retention deletes whole segments by the largest timestamp in them, open transactions or not; the cleaner compacts closed
// segments below the last stable offset; a partition forgets producers by the timestamp of their last record. Brokers do
// this at Kafka's intervals (Config.Housekeeping) or when Cluster is told to. See cleaner for what a compaction keeps.
//
// # Not modelled
//
// A leader that was replaced while it was held learns of it at once, so that it acknowledges nothing in the name of its
// lost term (with acks=1 a real one might). Of eligible leader replicas: they cannot be turned off again, and a change of
// min.insync.replicas, which settings of topics do not have here, does not clear them. __transaction_state has no
// replicas of its own: what their loss does to a coordinator is drawn (txnlog.go), and it is never without a leader for
// want of an eligible replica, as a real one may be when brokers come back in another order than they went. A broker that
// stops cleanly leaves the ISR when its session has ended, not at once. The epoch of a leader moves when there is another
// one, not when there is none as well. A leader asks a coordinator about each producer by itself, where a real one puts
// those of a moment into one request and translates all answers as the first producer's version of Produce demands: 48
// for 120 or the other way round, and 35 for all at transaction.version 0 when one asks by Produce v12. The client takes
// 48 and 120 for the same, and firetest sends it every code. Reassignment of replicas, fetching from followers, tiered storage, broken disks.
// The log start offset is shared by all copies. Generators append without a network: what they write is on all replicas
// in sync at once.
//
// The methods of Cluster that take no callback use no network. They are for generators, faults and the checker: the
// broker's truth.
package simbroker
