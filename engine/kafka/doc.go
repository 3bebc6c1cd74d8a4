// Package kafka is the client side of Kafka's protocol as plain code on loops: who leads a partition, who coordinates an
// id, record batches and their sequences, what is repeated and what is not, read_committed, transactions, offsets.
//
// It sends single requests through broker.Requests and runs unchanged in the simulator and on real brokers. A Client is
// one loop's view of one cluster. Reads that are safe to repeat (versions, metadata, lists of offsets) are repeated by the
// client, with back-off, up to a deadline. Everything whose repetition is a decision (transactions, commits, creating
// topics) is tried once and answered with three values: the result, Kafka's Code, and an error. An error that wraps
// broker.ErrNotSent says that the request never left; any other error leaves the outcome unknown; with a nil error the
// Code is the broker's word. A try that shows a wrong coordinator or leader forgets it, so that the next try asks anew.
//
// RETRIES.md puts side by side what franz-go, the Java client and this package repeat, refuse and give up on.
//
// Every done runs later on the client's loop, never inside the call.
package kafka
