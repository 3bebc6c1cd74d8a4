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
// The whole life of a world, in the hands of who runs it:
//
//	w := sim.New(sim.Options{Seed: 42})
//	simblob.New(w)                                        // gives processes their store
//	w.NewNode("tm1", func(p *proc.Process) { ... }).Start() // what runs there, at each start
//	w.OnHook(func(node string, e hook.Event) { ... })     // a nemesis, through w.Target()
//	w.Run(env.Instant(time.Minute))
//	w.Failure()                                           // a panic or broken invariant ends the run
//	w.Close()                                             // unwinds scripts
//
// What a connection does: messages of one direction arrive in order, each after a drawn delay. A cut holds them up; if it is
// mended soon they arrive late, else the connection breaks and both ends are told. A crash breaks the connections of its
// node: of what it had sent a prefix arrives, and the peer is told after a drawn time. So only broken connections and
// silence carry news of death.
//
// The world leaves to others what is on it: package simblob is the store, package simbroker the Kafka cluster, and the
// engine's processes are booted by scenarios.
package sim
