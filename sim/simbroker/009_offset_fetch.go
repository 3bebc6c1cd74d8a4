package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[9] = (*Broker).offsetFetch }

// offsetFetch reads committed offsets. With RequireStable a partition with a pending value answers 88 instead.
func (b *Broker) offsetFetch(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.OffsetFetchRequest)
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	stable := req.RequireStable && req.Version >= 7
	groups := req.Groups
	if req.Version < 8 {
		one := kmsg.OffsetFetchRequestGroup{Group: req.Group}
		for _, t := range req.Topics {
			one.Topics = append(one.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: t.Topic, Partitions: t.Partitions})
		}
		if req.Topics == nil {
			one.Topics = nil
		}
		groups = []kmsg.OffsetFetchRequestGroup{one}
	}
	for i := range groups {
		resp.Groups = append(resp.Groups, b.fetchGroup(&groups[i], stable, req.Version))
	}
	if req.Version < 8 {
		flattenGroup(resp)
	}
	if !stable {
		reply(resp)
		return
	}
	o := b.c.groupPartition(groups[0].Group).group
	if o.settled <= b.c.w.Now() && len(o.writes) == 0 {
		reply(resp)
		return
	}
	// A stable read is executed behind the writes that are on their way.
	o.behindWrites(b, func(code int16) {
		for i := range groups {
			resp.Groups[i] = b.fetchGroup(&groups[i], stable, req.Version)
			if code != ok {
				resp.Groups[i] = kmsg.OffsetFetchResponseGroup{Group: groups[i].Group, ErrorCode: code}
			}
		}
		if req.Version < 8 {
			flattenGroup(resp)
		}
		reply(resp)
	})
}

// behindWrites runs fn when what is on its way to the log is there.
func (o *offsets) behindWrites(b *Broker, fn func(code int16)) {
	if o.p.replicated() {
		o.p.whenCommitted(o.writes[len(o.writes)-1].at+1, offsetsTimeout, func(code int16) { fn(offsetsCode(code)) })
		return
	}
	b.loop.After(o.settled.Sub(b.c.w.Now()), func() { fn(ok) })
}

func (b *Broker) fetchGroup(q *kmsg.OffsetFetchRequestGroup, stable bool, version int16) kmsg.OffsetFetchResponseGroup {
	r := kmsg.OffsetFetchResponseGroup{Group: q.Group}
	o := b.c.groupPartition(q.Group).group
	if r.ErrorCode = o.get(b, q.Group); r.ErrorCode != ok {
		return r
	}
	g := o.known(q.Group)
	if q.Topics == nil {
		r.Topics = b.allOffsets(g, stable)
		return r
	}
	for i := range q.Topics {
		t := &q.Topics[i]
		rt := kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic, TopicID: t.TopicID}
		known := b.topicOf(t.Topic, t.TopicID, version >= 10)
		for _, num := range t.Partitions {
			rp := noOffset(num)
			var s *offsetSlot
			switch {
			case known == nil && version >= 10:
				rp.ErrorCode = unknownTopicID
			case g != nil && known != nil:
				s = g.find(TopicPartition{Topic: known.name, Partition: num})
			case g != nil:
				s = g.find(TopicPartition{Topic: t.Topic, Partition: num})
			}
			if s != nil {
				b.fillOffset(&rp, s, stable, version, known)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		r.Topics = append(r.Topics, rt)
	}
	return r
}

func noOffset(num int32) kmsg.OffsetFetchResponseGroupTopicPartition {
	empty := ""
	return kmsg.OffsetFetchResponseGroupTopicPartition{Partition: num, Offset: -1, LeaderEpoch: -1, Metadata: &empty}
}

func (b *Broker) fillOffset(r *kmsg.OffsetFetchResponseGroupTopicPartition, s *offsetSlot, stable bool, version int16,
	t *topic,
) {
	switch {
	case stable && len(s.pending) > 0:
		b.reached(probeUnstable)
		r.ErrorCode = unstableOffsetCommit
	case s.value.offset < 0, version >= 10 && t != nil && s.value.topicID != t.id:
	default:
		metadata := s.value.metadata
		r.Offset, r.LeaderEpoch, r.Metadata = s.value.offset, s.value.leaderEpoch, &metadata
	}
}

// allOffsets lists what has a committed value; a partition that has only a pending one is not listed.
func (b *Broker) allOffsets(g *group, stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	var out []kmsg.OffsetFetchResponseGroupTopic
	if g == nil {
		return out
	}
	for i := range g.slots {
		s := &g.slots[i]
		if s.value.offset < 0 {
			continue
		}
		j := 0
		for j < len(out) && out[j].Topic != s.tp.Topic {
			j++
		}
		if j == len(out) {
			out = append(out, kmsg.OffsetFetchResponseGroupTopic{Topic: s.tp.Topic, TopicID: s.value.topicID})
		}
		r := noOffset(s.tp.Partition)
		b.fillOffset(&r, s, stable, 0, nil)
		out[j].Partitions = append(out[j].Partitions, r)
	}
	return out
}

// flattenGroup moves the one group of an old request to where old responses have it.
func flattenGroup(resp *kmsg.OffsetFetchResponse) {
	g := &resp.Groups[0]
	resp.ErrorCode, resp.Topics = g.ErrorCode, nil
	for i := range g.Topics {
		t := kmsg.OffsetFetchResponseTopic{Topic: g.Topics[i].Topic}
		for _, p := range g.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata,
				ErrorCode: p.ErrorCode,
			})
		}
		resp.Topics = append(resp.Topics, t)
	}
}
