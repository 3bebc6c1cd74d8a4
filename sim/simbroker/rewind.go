package simbroker

// past is one thing that a group partition has taken in: a write of its log that came below the high watermark, or a removal at
// what was the end of the log then.
type past struct {
	groupWrite
	cleared, dropped bool // the value of a partition, or the whole group
}

// remember notes what an unclean election may take back. __consumer_offsets has the brokers' unclean.leader.election.enable,
// unlike __transaction_state, which is created with its own: on 4.4.0 an acknowledged offset of 42 was 1 after such an election.
func (o *offsets) remember(e past) {
	if o.p.c.cfg.UncleanElection {
		o.past = append(o.past, e)
	}
}

// rewind makes the groups what the log up to an end says, where more was taken in. Whoever reads offsets is told older ones.
func (o *offsets) rewind(end int64) {
	var kept []past
	for _, e := range o.past {
		if e.at < end {
			kept = append(kept, e)
		}
	}
	if len(kept) == len(o.past) {
		return
	}
	o.p.c.reached(probeRewound)
	o.groups, o.byName, o.past = nil, map[string]*group{}, nil
	for i := range kept {
		switch e := &kept[i]; {
		case e.cleared:
			if g := o.known(e.group); g != nil {
				if s := g.find(e.tp); s != nil {
					o.clear(g, s)
				}
			}
		case e.dropped:
			o.drop(e.group)
		default:
			o.take(&e.groupWrite)
		}
	}
	o.past = kept
}
