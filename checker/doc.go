// Package checker judges whether a stream job kept its promise, from three kinds of evidence: what the input topics hold
// in the end, what read_committed readers saw (with offsets, while the job ran and afterwards), and what the broker knows
// at the end. It knows nothing of the engine that it judges and shares no code with it; the same checker judges a
// simulated run, real topics under chaos, and any other engine's output.
//
// A record's identity is its input partition and offset. Each output names the inputs that it consumes; the checker
// compares multisets of those names, their order per key, and the numbers that a reference fold over them gives.
//
// A History is filled by whoever ran the job, is stored as JSON lines, and goes into Check together with an Oracle, which
// knows what one job's records mean. The properties are a registry: each has a name, a verdict and a test with a history
// that only it rejects.
//
// Claims (positions of confirmed checkpoints, named losses) are what the engine says of itself. They can only convict:
// everything below a confirmed position must be visible; nothing is excused that the broker's truth does not excuse.
package checker
