package sink

import (
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// proveEnds looks whether the markers of transactions that are not open are below the high watermark, so that no election
// takes them away. Where one is not, the partition counts as one that has not told.
//
// A last stable offset above the last record is the proof: until then the transaction is open, or its marker is not on all
// replicas in sync (UnifiedLog.fetchLastStableOffsetMetadata). Where somebody else's older transaction holds it back, the
// marker itself is looked for; an uncommitted read ends at the high watermark.
func (c *Committer) proveEnds(ended []Place, f *Seen, done func()) {
	var places []Place
	for _, p := range ended {
		if at := producersOf(*f, p.TopicPartition); at.Code == kafka.OK {
			if _, open := openAt(at, p.ProducerID); !open {
				places = append(places, p)
			}
		}
	}
	if len(places) == 0 {
		done()
		return
	}
	var parts []id.TopicPartition
	for _, p := range places {
		parts = append(parts, p.TopicPartition)
	}
	parts = unique(parts)
	left := 1
	finish := func() {
		if left--; left == 0 {
			done()
		}
	}
	c.client.ListOffsets(parts, kafka.Latest, kafka.ReadCommitted, func(list []kafka.ListedOffset, err error) {
		for _, p := range places {
			i := slices.IndexFunc(list, func(o kafka.ListedOffset) bool { return o.TopicPartition == p.TopicPartition })
			if err == nil && i >= 0 && list[i].Code == kafka.OK && list[i].Offset > p.Last {
				continue
			}
			left++
			c.findMarker(p, p.Last+1, func(found Fact) {
				if found.(MarkerFound).Witness == WitnessUndecided {
					c.cfg.Process.Reached(EndUnproven)
					f.untold(p.TopicPartition)
				}
				finish()
			})
		}
		finish()
	})
}

// untold makes a partition one whose leader does not tell what the others have.
func (s *Seen) untold(tp id.TopicPartition) {
	for i := range s.Producers {
		if s.Producers[i].TopicPartition == tp {
			s.Producers[i].Code = kafka.NotEnoughReplicasAfter
		}
	}
}
