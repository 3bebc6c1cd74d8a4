package simbroker

// expireOffsets forgets what was committed too long ago, as a group coordinator does once in a while. The time counts from
// the request, also of a value that became visible much later with the end of its transaction; a partition with something
// pending is left alone.
func (o *offsets) expireOffsets(b *Broker) {
	oldest := b.wallMs() - b.c.cfg.OffsetsRetention.Milliseconds()
	for _, g := range append([]*group(nil), o.groups...) {
		for i := range g.slots {
			s := &g.slots[i]
			if !g.gone && len(s.pending) == 0 && s.value.offset >= 0 && s.value.timeMs <= oldest {
				o.clear(g, s)
			}
		}
		switch {
		case g.gone || g.committed():
		case !g.pending():
			o.drop(g.name)
		case b.profile.DropsPendingGroup:
			g.gone = true
		}
	}
}

// ExpireOffsets has every group coordinator look for expired offsets now.
func (c *Cluster) ExpireOffsets() {
	for _, p := range c.offsets {
		if p.leader >= 0 && c.brokers[p.leader].up() && p.group.loaded {
			p.group.expireOffsets(c.brokers[p.leader])
		}
	}
}
