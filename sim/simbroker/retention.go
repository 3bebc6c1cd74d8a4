package simbroker

import (
	"strings"
	"time"
)

func (t *topic) deletes() bool {
	return t.cfg.Cleanup == "" || strings.Contains(t.cfg.Cleanup, "delete")
}

// compacts tells whether the cleaner looks at the topic. Nobody reads the partitions of offsets record by record: they are
// as if compacted at any time.
func (t *topic) compacts() bool {
	return strings.Contains(t.cfg.Cleanup, "compact") && !t.internal
}

// retain deletes the segments that are too old or too many, be there open transactions in them or not.
func (p *partition) retain() {
	cfg := &p.topic.cfg
	if !p.topic.deletes() {
		return
	}
	l, start := p.log, p.log.start
	if cfg.RetentionMs >= 0 {
		keep := cfg.RetentionMs
		if keep == 0 {
			keep = week.Milliseconds()
		}
		start = l.expired(p.c.w.Wall().UnixMilli() - keep)
	}
	if cfg.RetentionBytes > 0 {
		start = max(start, l.excess(cfg.RetentionBytes))
	}
	if start > l.start {
		if start == l.leo {
			l.rollNow()
		}
		l.deleteBefore(start)
		p.wake()
	}
}

// excess is the offset below which segments lie that a log of so many bytes does without.
func (l *log) excess(bytes int64) int64 {
	start := l.start
	for i := 0; i+1 < len(l.segments); i++ {
		next := &l.segments[i+1]
		if int64(l.size-next.at) < bytes || next.base > l.hw {
			break
		}
		start = next.base
	}
	return start
}

// expireProducers forgets producers whose last record has a timestamp so old, and that have nothing open here. A record of
// yesterday's event makes a producer expire that has just written it.
func (p *partition) expireProducers(age time.Duration) {
	limit := p.c.w.Wall().UnixMilli() - age.Milliseconds()
	l := p.log
	for i := len(l.producers) - 1; i >= 0; i-- {
		s := &l.producers[i]
		if s.openFirst >= 0 || s.lastTime > limit {
			continue
		}
		p.c.reached(probeExpired)
		pid := s.id
		if l.floor != nil && l.floor.producer(pid) != nil {
			l.floor.forget(pid)
		}
		l.forget(pid)
	}
}

// ApplyRetention deletes what the retention of a topic allows, as the log manager does once in a while.
func (c *Cluster) ApplyRetention(topic string, num int32) { c.mustFind(topic, num).retain() }

// ExpireProducers forgets the producers of a partition whose last record is so old, as the broker does once in a while.
func (c *Cluster) ExpireProducers(topic string, num int32, age time.Duration) {
	c.mustFind(topic, num).expireProducers(age)
}

// Compact runs the cleaner over a partition, whatever its cleanup.policy is. Only closed segments below the last stable
// offset and older than min.compaction.lag.ms are cleaned: see Roll.
func (c *Cluster) Compact(topic string, num int32) { c.mustFind(topic, num).compact() }

// Roll lets a new segment begin with the next batch of a partition, so that all before it can be compacted or deleted.
func (c *Cluster) Roll(topic string, num int32) { c.mustFind(topic, num).log.rollNow() }
