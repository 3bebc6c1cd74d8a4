// Package wire is what JobManager and TaskManagers say to each other: one struct per message, encoded as versioned binary
// in a frame of length and crc32c.
//
// A message is decoded completely or not at all. Decode never panics, and never allocates more than a small multiple of
// what it was given, whatever the bytes are.
//
// Each message describes its fields once, in code, which a coder runs in either direction: so encoding and decoding cannot
// disagree.
package wire
