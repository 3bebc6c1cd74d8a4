package kafka

import "unicode/utf16"

// InternalPartition is the partition of an internal topic to which brokers assign a transactional id or a group. Its leader is
// the coordinator.
func InternalPartition(name string, partitions int32) int32 { return javaHash(name) % partitions }

// javaHash is the amount of Java's String.hashCode, as Kafka's Utils.abs takes it: not the bits without the sign.
func javaHash(s string) int32 {
	h := int32(0)
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(unit)
	}
	if h == -1<<31 {
		return 0
	}
	return max(h, -h)
}
