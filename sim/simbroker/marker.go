package simbroker

// marker is the order to end what a producer has open in a partition.
type marker struct {
	pid     int64
	epoch   int16
	commit  bool
	coord   int32 // epoch of the coordinator
	version int8  // transaction version that the coordinator names: 2 or lower
}
