package simbroker

// javaHash is Utils.abs(s.hashCode()) of Kafka for texts in the basic plane: it picks the partition of an internal topic.
func javaHash(s string) int32 {
	var h int32
	for _, r := range s {
		h = 31*h + r
	}
	if h == -1<<31 {
		return 0
	}
	return max(h, -h)
}
