// Package engine is an exactly-once stream engine that lives in two worlds: a deterministic simulator, in which a seed
// chooses every failure, and production, where the same code runs on real Kafka. This package has no code; it is the map.
//
// # One record's life
//
//  1. The fetcher of a source subtask (kafka, source) reads a batch from its partition and hands each committed record,
//     where it lies in the batch, to the chain.
//  2. The chain (flow, task) decodes it into the job's type and calls the user's functions one after the other: a chain of
//     operators is one subtask on one loop.
//  3. At a keyed edge the record is encoded into the flat batch of the channel that leads to the owner of its key group
//     (keygroup, stream). Full batches are handed over within the process or framed to another one (exchange), as long as
//     the receiver gives credit.
//  4. The receiving subtask reads its inputs (task), applies the user's function to the state of the key (state) and emits.
//  5. The sink subtask (sink) appends the result to the open batch of its output partition, inside its open transaction.
//  6. The batch is sealed with producer id, producer epoch and sequence, and sent until the broker has acknowledged it (kafka).
//     A read_committed reader does not see it yet.
//
// # One checkpoint's life
//
//  1. The checkpoint coordinator (checkpoint, jobmanager) triggers checkpoint n. Each source subtask injects barrier n (hook
//     k0) and notes its positions (k1).
//  2. Barriers travel in band. A subtask with several inputs stops reading those that delivered barrier n until all have
//     (alignment); then it freezes its state (k2) and passes the barrier on. Frozen state is uploaded off the record path.
//  3. The sink commits its marker inside the transaction and flushes (k3); the token that names the prepared transaction
//     goes into the snapshot (k4) and the identity is frozen.
//  4. Each subtask acknowledges (k5). With all acknowledgements (k6) the JobManager writes the manifest and appends Completed
//     to the job log (joblog, k7): from here on, checkpoint n is never undone.
//  5. The JobManager notifies the sinks (k8), which send EndTxn (k9). The transaction coordinator makes the verdict durable
//     (k10) and writes markers to the partitions (k11, k12); the reply arrives (k13).
//  6. The JobManager confirms (c1): no partition shows the transaction open, its markers are on all replicas in sync, and
//     its lane reads n. A dropped marker is repaired (c2). Then Confirmed is appended (k14), and the transactional ids may be
//     used again.
//
// # A restart's life
//
// A new generation is claimed in the job log (r0); the salvage ids are initialised (r1), which fences an older restore; all
// undecided tokens are surveyed before anything is done (r2); each is decided, oldest checkpoint first (r3), by commit or by
// salvage (r4), confirmed and logged (r5); the ids of older generations are fenced (r6); only then the writers open (r7)
// and the sources start from the positions of the checkpoint. A failure is a pause, never a difference.
//
// # Glossary
//
//   - job graph / plan: what the author wrote / its subtasks, channels and slots.
//   - operator / subtask: a step of the job graph / one parallel instance of a chain of operators.
//   - JobManager / TaskManager: the two kinds of process. Node: a machine of the simulator.
//   - checkpoint coordinator: decides when a checkpoint begins and what becomes of it. Transaction coordinator: Kafka's.
//   - channel: one FIFO edge between two subtasks.
//   - barrier n ends epoch n. Alignment: waiting for barrier n on every input.
//   - pending, completed, confirmed: states of a checkpoint. Declined, expired, subsumed: how one fails.
//   - savepoint: a checkpoint owned by the user.
//   - generation: one incarnation of the job, the position of its Claimed entry in the job log.
//   - token (Flink: committable): what a checkpoint stores of a prepared transaction. Prepare, commit, confirm: its steps.
//   - lane: one partition of the job's marker topic, for (sink, subtask, number).
//   - salvage: producing the records of an aborted, yet completed, transaction again from the log.
//   - split: one partition of a source with the position to read next.
//   - key group: a fixed share of the key space; subtasks own ranges of them.
//   - fact / effect: what goes into a pure core / what it asks for.
//   - release: a version of Kafka. Profile: how the simulated broker is one, with a transaction.version (k44, k44-tv1).
//   - property: something that Kafka does, and how releases differ in it, P1 to P25 (broker/brokertest). Hazard: how that
//     hurts an engine, H1 to H45 (scenarios/hazard). Form: another way in which a hazard comes about, H28/restart. Script: what
//     shows any of them on any cluster (broker/stage).
//   - entry: one line of a trace. Scenario, plan, swarm, campaign, corpus; probe, nemesis: see faults and scenarios.
//   - Epoch alone is the engine's; Kafka's is always ProducerEpoch.
package engine
