// Package sim is the simulated world: nodes, loops, a network, disks and clocks, all served by one goroutine from one heap
// in virtual time.
//
// A World is a function of its seed and of what is put on it. Run twice it takes every step twice in the same order, and
// TraceHash, which folds every delivery, timer, draw and hook, proves it. Four rules make that so:
//
//   - One heap. Ties between loops are broken by hash(seed, instant, loop), within a loop by order of posting.
//   - Randomness by name. A draw is a hash of the seed and of what is decided about, so a draw of the same name stays
//     equal when a fault is taken out of a plan.
//   - Handling takes time. Each callback occupies its loop for a drawn or declared time (Loop.Spend), and later callbacks
//     wait, so queues, credits and timeouts really bind.
//   - A dead process does nothing. A node may be crashed in mid-callback, from a hook between two effects: from that instant
//     on its sends, posts, timers and hooks have no effect.
//
// The world leaves to others what is on it: package simblob is the store, package simbroker the Kafka cluster, and the
// engine's processes are booted by scenarios.
package sim
