// Package sink is the exactly-once Kafka sink: two-phase commit with transactions that outlive their writers, and the
// restore order that decides every one of them.
//
// It has two halves. Kafka.New makes the half that runs in a subtask: a pool of transactional ids, one transaction per
// epoch, and at the barrier a marker, a flush and a token. NewCommitter makes the half that runs in the JobManager: it
// confirms that commits have really ended, and in a restore it decides, repairs, salvages and fences before anybody
// writes again.
//
// Three rules carry the rest:
//
//  1. A transactional id belongs to one generation; whoever is late can only touch its own generation's ids. The salvage
//     id is the one exception: it is a lock.
//  2. The job log is the one home of "it ended". Confirmed is read before Kafka is asked, and an id is not used again
//     before it (quarantine).
//  3. Take the lock before reading the evidence, wherever what is read leads to a write.
//
// Everything that decides is pure. The verdict tables (verdict.go, class.go) are functions; the pool (pool.go) is a core
// with Step; the long protocols (lock, survey, settle, repair, salvage, fence, restore) are scripts: functions written top
// to bottom over effects and facts (effect.go), which perform.go maps to the client of engine/kafka. Rules bundles the
// scripts and decisions that make the guarantee, so that a negative control can replace one of them from outside and be
// caught.
package sink
