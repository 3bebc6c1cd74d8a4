// Package firetest asks engine/kafka how it behaves under fire, on any cluster that is a stage.Backend: the same questions on a
// simulated cluster, an embedded kfake and real brokers, and the same answers.
//
// Matrix is the client's behaviour as data: for each request and each error code or broken connection, what the caller sees.
// Check runs cells of it and compares; Table is what RETRIES.md shows of it. Script is a transactional writer and a reader
// while brokers are killed, held and moved.
package firetest
