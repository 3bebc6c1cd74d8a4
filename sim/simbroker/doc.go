// Package simbroker is a Kafka cluster in the simulated world, behind the port broker.Requests.
//
// Requests and responses are the kmsg structs of real Kafka, and each of them is a message between two nodes: it can be
// late, lost or repeated, its answer too. The folder is the index: a request is handled in the file that carries its API
// key. What a request does has the order of checks, the error codes and the asynchronous steps of Apache Kafka, for the
// releases that a Profile describes. It must never be kinder than the real broker: an answer of success comes before
// markers are written, a retry may be answered "concurrent", a marker may be dropped on releases that drop them.
//
//	Cluster    topics, leaders and brokers: what the controller knows
//	partition  the log of one partition: batches, producers, open and aborted transactions, guards
//	shard      one partition of __transaction_state: the transaction coordinator for the ids that hash to it
//	group      committed and pending offsets, in a partition of __consumer_offsets
//	Broker     one process: connections, and the requests that it is working on
//	client     the port of one loop of another node: a connection per broker, in order, until it breaks
//
// There is one copy of each partition, and an append is durable at once. What a broker has only in memory is lost when it
// crashes: connections, verification guards, pending transitions, waiting fetches. A partition of data has no leader
// while its broker is down; the partitions of the two internal topics move to another broker after a while, as if they
// were replicated.
//
// The methods of Cluster that take no callback use no network. They are for generators, faults and the checker: the
// broker's truth.
package simbroker
