package simbroker

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/trace"
)

// What this package draws about.
const (
	kindTxnAppend    env.Kind = env.KindBroker + iota // time of an append: id, number of its append
	kindSurvives                                      // whether an append under way survives: id, number, term
	kindLoad                                          // time of a load: shard, term
	kindMarker                                        // when a marker leaves: id, append and partition, term
	kindMarkerLate                                    // whether it lies long: same
	kindMarkerRetry                                   // pause before a marker is tried again: id, partition, try
	kindOffsetAppend                                  // time of an append of offsets: partition, offset
	kindSession                                       // when a dead broker is noticed: broker, incarnation
	kindFailOver                                      // when a coordinator partition moves: partition, term
	kindNewLeader                                     // where to: partition, term
	kindRegistration                                  // when a started broker leads again: broker, incarnation
	kindDataLag                                       // whether its data partitions come later: broker, incarnation
	kindVisible                                       // when a broker sees a partition: partition, broker
	kindAwait                                         // when a waiting marker notices a leader: partition, leader epoch
	kindTopicID                                       // the id of a topic: its number
	kindBootstrap                                     // the first broker that a client asks: node, class
	kindScan                                          // phase of the timeout scan: broker, incarnation
	kindGroupLoad                                     // time of a load of a group partition: partition, leader epoch
	kindTxnTrouble                                    // what becomes of an append in trouble, and when: id, number, 0 or 1
	kindTxnRetry                                      // pause before a completion is appended again: id, number of its append
	kindStale                                         // when a former coordinator hears that it is one: shard, term
	kindExpire                                        // phase of the scan for unused ids: broker, incarnation
	kindFinalize                                      // when a broker hears of a feature: number of the change, broker
	kindFetch                                         // time of a follower's fetch: partition and replica, end, round
	kindFetchLate                                     // whether it takes long: same
	kindHeard                                         // whether a follower has heard of the high watermark: same
	kindOvertaken                                     // whether a fetch hangs between the bounds and the records, and how long: broker, time
)

// What happens in the cluster, as entries.
var (
	entryTxn     = trace.NewKind("txn", "id", "producer", "epoch", "state")
	entryTimeout = trace.NewKind("txn-timeout", "id", "producer", "epoch", "")
	entryDropped = trace.NewKind("marker-dropped", "id", "partition", "producer", "")
	entryGaveUp  = trace.NewKind("marker-refused", "id", "partition", "code", "")
	entryLeader  = trace.NewKind("leader", "partition", "broker", "epoch", "")
	entryCoord   = trace.NewKind("coordinator", "shard", "broker", "epoch", "")

	entryUpgrade   = trace.NewKind("upgrade", "broker", "profile", "", "")
	entryFinalize  = trace.NewKind("finalize", "transaction.version", "", "", "")
	entryISR       = trace.NewKind("isr", "partition", "brokers", "epoch", "eligible")
	entryTruncated = trace.NewKind("truncated", "partition", "broker", "from", "to")
)

var (
	probeDropped     = probe.New("simbroker: marker dropped")
	probeReDriven    = probe.New("simbroker: decided transaction driven again by another coordinator")
	probeTimeout     = probe.New("simbroker: transaction timed out")
	probeFenced      = probe.New("simbroker: open transaction fenced")
	probeDuplicate   = probe.New("simbroker: duplicate batch recognised")
	probeTruncated   = probe.New("simbroker: follower truncated what its new leader does not have")
	probeShorter     = probe.New("simbroker: new leader without the newest records")
	probeShrunk      = probe.New("simbroker: replica left the ISR")
	probeRewound     = probe.NewScripted("simbroker: unclean election of a group's partition took offsets back")
	probeUnclean     = probe.NewScripted("simbroker: unclean election")
	probeEligible    = probe.New("simbroker: eligible replica elected")
	probeLastLeader  = probe.New("simbroker: last known leader elected")
	probeHeld        = probe.New("simbroker: high watermark held below the minimum of replicas in sync")
	probeTooFew      = probe.New("simbroker: too few replicas in sync for a write")
	probeTooFewAfter = probe.NewScripted("simbroker: too few replicas in sync after an append")
	probeAckTimeout  = probe.New("simbroker: write not on all replicas in time")
	probeExpired     = probe.NewScripted("simbroker: producer forgotten by a partition")
	probeCompacted   = probe.NewScripted("simbroker: log compacted")
	probeUnstable    = probe.New("simbroker: unstable offset answered")

	probeTxnLogFailed = probe.New("simbroker: append to the transaction log failed")
	probeTxnLogGhost  = probe.NewScripted("simbroker: a record that was reported as failed was loaded")
	probeMemoryFence  = probe.NewScripted("simbroker: open transaction fenced in memory only") // drawn seldom: a few releases and levels
	probeStale        = probe.New("simbroker: a coordinator answered that was one no more")
)
