package simbroker

import (
	"time"

	"github.com/onefold/onefold/engine/env"
)

// house is when the cluster's housekeeping was last done.
type house struct{ retention, cleaner, producers env.Instant }

// housekeep does what is due.
func (c *Cluster) housekeep(now env.Instant) {
	due := func(last *env.Instant, every time.Duration) bool {
		if every < 0 || now.Sub(*last) < every {
			return false
		}
		*last = now
		return true
	}
	h := &c.cfg.Housekeeping
	retention, cleaner := due(&c.house.retention, h.Retention), due(&c.house.cleaner, h.Cleaner)
	producers := due(&c.house.producers, h.ProducerScan)
	for _, p := range c.parts {
		if p.deleted {
			continue
		}
		p.attend(now)
		if retention {
			p.retain()
		}
		if cleaner && p.topic.compacts() {
			p.compact()
		}
		if producers {
			p.expireProducers(c.cfg.Housekeeping.ProducerExpiration)
		}
	}
}
