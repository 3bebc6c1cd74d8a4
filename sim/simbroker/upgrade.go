package simbroker

import "github.com/onefold/onefold/sim"

const transactionFeature = "transaction.version"

// SetProfile gives a broker another release, from its next start on. It is false when the release cannot join the cluster:
// it does not have a feature whose level is above 0 there. The highest epoch stays that of the cluster.
func (c *Cluster) SetProfile(broker int, p Profile) bool {
	if broker < 0 || broker >= len(c.brokers) || p.MaxEpoch == 0 || !p.HasTransactionVersion && c.level > 0 || !p.HasELR && c.elr {
		return false
	}
	p.MaxEpoch = c.cfg.Profile.MaxEpoch
	c.brokers[broker].next = p
	return true
}

// Profile is the release that the cluster began with.
func (c *Cluster) Profile() Profile { return c.cfg.Profile }

// ProfileOf is the release that a broker runs, or ran when it was up.
func (c *Cluster) ProfileOf(broker int) Profile { return c.brokers[broker].profile }

// Finalize sets the level of the feature transaction.version of the cluster, as kafka-features does. Each broker hears of
// it at its own time. It is false when a broker, in the release that it runs or will start with, does not have the feature.
func (c *Cluster) Finalize(level int16) bool {
	if level < 0 || level > 2 || level == c.level {
		return false
	}
	for _, b := range c.brokers {
		if !b.profile.HasTransactionVersion || !b.next.HasTransactionVersion {
			return false
		}
	}
	c.level = level
	c.levels++
	n := c.levels
	for _, b := range c.brokers {
		d := c.span(c.cfg.Visible, kindFinalize, uint64(n), b.node.Key(), 0)
		c.w.Loop().After(d, func() {
			if c.levels == n {
				b.knows = level
			}
		})
	}
	c.w.Entry(nil, entryFinalize, uint64(level), 0, 0, 0)
	return true
}

// TransactionVersion is the level of the feature transaction.version that the controller has.
func (c *Cluster) TransactionVersion() int16 { return c.level }

// level is what the broker knows of the feature transaction.version.
func (b *Broker) level() int16 {
	if !b.profile.HasTransactionVersion {
		return 0
	}
	return b.knows
}

// upgrade stops a broker as an operator does in a rolling upgrade: what it leads is given to others first.
func (c *Cluster) upgrade(b *Broker, p Profile) bool {
	if !b.up() || !c.SetProfile(int(b.id), p) {
		return false
	}
	c.leave(b)
	b.clean = true
	c.w.Entry(b.node, entryUpgrade, uint64(b.id), sim.NameKey(p.Name), 0, 0)
	return true
}
