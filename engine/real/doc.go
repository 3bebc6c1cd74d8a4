// Package real has the engine's ports on an operating system and on Kafka, one folder per port: loop (loops, clock, randomness,
// workers, transport within a process), fsblob (the blob store on a file system) and kafka (requests over franz-go's
// connections). process bundles them, and run is what a job author's main calls. What the simulator cannot see lives here and
// is tested under the race detector with the conformance suite of each port.
//
// The rest serves those tests: localkafka runs brokers of this machine, realstage makes a cluster one on which the scripts of
// package stage play, conform compares it with a model, and subprocess starts what is killed.
package real
