// Package checkpoint has the checkpoint coordinator as a pure core, and the plain data of which a checkpoint consists.
//
// The coordinator takes the checkpoints of one generation from their triggers to their confirmations: facts in (Acked,
// Declined, Persisted), effects out (Trigger, Persist, AppendCompleted, Notify, Confirm), no port and no clock. A checkpoint
// is pending until Completed is in the job log, completed until Kafka has ended its transactions, then confirmed. One is
// pending at a time; completed ones are confirmed in order. Whoever drives it executes the effects one by one: package
// jobmanager.
//
// The data: a Manifest is one checkpoint, all that is needed to go on from it; a SubtaskState is the part of one subtask, as
// it is in its acknowledgement; a Handle points to an object that was uploaded.
package checkpoint
