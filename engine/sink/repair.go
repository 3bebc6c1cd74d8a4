package sink

import (
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// RepairMarkers writes the end markers that a transaction's partitions never got, with the same verdict. It never
// initialises: an initialisation, or a timeout after the first add, writes ABORT over committed records.
//
// With cluster rights it is one request per partition, without a window and repeatable, with exactly the producer and
// coordinator epochs that the partition shows (a higher coordinator epoch would close the partition to its coordinator).
// Without, the stuck partitions are added to a small transaction under the identity that Describe shows, which ends at
// once: two frames in one write, so that a dying sender leaves no half of it. The lane is a repair of its own, since a
// third frame is lost when a socket closes. The caller repeats it until the check is clean, and then asks the second
// witness again.
//
// It reports whether it wrote anything.
func RepairMarkers(ask Ask, p *Plan, d Dropped) (bool, error) {
	t := d.Item.Token
	under := kafka.Identity{TransactionalID: t.TransactionalID, ProducerID: d.Now.ProducerID, ProducerEpoch: d.Now.ProducerEpoch, Protocol: t.EndTxnVersion}
	var left []id.TopicPartition
	sent := false
	for _, at := range d.Partitions {
		wrote, allowed := writeMarker(ask, p, at, d)
		sent = sent || wrote
		if !allowed {
			left = append(left, at.TopicPartition)
		}
	}
	if len(left) > 0 {
		ask(RepairPartitions{under, left, d.Item.Commit})
		sent = true
	}
	if d.Lane && repairLane(ask, p, d, under) {
		sent = true
	}
	if sent {
		ask(Pass{hook.C2RepairSent, t.Checkpoint})
		ask(Reach{RepairSent})
	}
	return sent, nil
}

// writeMarker writes one marker by hand, where the transaction is open; it is not allowed without cluster rights.
func writeMarker(ask Ask, p *Plan, at kafka.PartitionProducers, d Dropped) (wrote, allowed bool) {
	if p.NoClusterRights {
		return false, false
	}
	producer := d.Item.Token.ProducerID
	open, ok := openAt(at, producer)
	if !ok || open.ProducerEpoch > int32(d.LastEpoch) {
		return false, true
	}
	got := get[Answered](ask, WriteMarker{kafka.MarkerWrite{
		ProducerID: producer, ProducerEpoch: int16(open.ProducerEpoch), Commit: d.Item.Commit, CoordinatorEpoch: open.CoordinatorEpoch,
		Partitions: []id.TopicPartition{at.TopicPartition},
	}})
	if got.Err == nil && got.Code == kafka.ClusterAuthorization {
		p.NoClusterRights = true
		return false, false
	}
	return true, true
}

// repairLane writes the marker that the offsets partition never got. Where that partition can be looked at and shows nothing
// of this producer id, the lane is held by somebody else, and there is nothing to repair.
func repairLane(ask Ask, p *Plan, d Dropped, under kafka.Identity) bool {
	offsets := get[Seen](ask, LookOffsets{d.Item.Token.Sink})
	if offsets.Err == nil && len(offsets.Producers) == 1 && offsets.Producers[0].Code == kafka.OK {
		open, ok := openAt(offsets.Producers[0], d.Item.Token.ProducerID)
		if !ok || open.ProducerEpoch > int32(d.LastEpoch) {
			return false
		}
		if wrote, allowed := writeMarker(ask, p, offsets.Producers[0], d); allowed {
			return wrote
		}
	}
	ask(RepairLane{under, d.Item.Token.Sink, d.Item.Commit})
	return true
}
