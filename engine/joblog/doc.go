// Package joblog is the one source of truth about a job: numbered objects in the blob store, each created only if absent.
//
// Whoever wants to act appends at the next position. If the position is taken it reads on, and if somebody claimed a
// newer generation it stops. So a JobManager that was replaced can never complete a checkpoint, without any election
// service: the only atomic step is create-if-absent.
//
// An entry is one JSON document and a crc32c line, under log/%016d. It carries the fold of the log up to itself, so that
// recovery reads one entry and the log can be truncated from the front.
//
// Three subtleties carry the safety:
//   - An entry has a nonce of its own. "It exists, with my nonce" is my success whose reply was lost.
//   - After each create at p, the entry at p-1 must still be the one on which p was built. Otherwise the log was truncated
//     meanwhile, and p is a fresh object below the floor that nobody will ever read.
//   - Truncation is announced by the floor in an entry and then deletes in ascending order, one definite delete after the
//     other: what is gone at p is gone below p, too.
//
// The protocol is a pure core (facts in, effects out); Log drives it over a blob.Store.
package joblog
