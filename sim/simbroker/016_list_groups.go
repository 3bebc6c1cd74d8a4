package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() {
	handlers[16] = (*Broker).listGroups
	handlers[42] = (*Broker).deleteGroups
	handlers[47] = (*Broker).offsetDelete
}

// listGroups lists the groups that this broker coordinates.
func (b *Broker) listGroups(kreq kmsg.Request, reply func(kmsg.Response)) {
	resp := kreq.ResponseKind().(*kmsg.ListGroupsResponse)
	for _, p := range b.c.offsets {
		if p.leader != b.id || !p.group.loaded {
			continue
		}
		for _, g := range p.group.groups {
			r := kmsg.NewListGroupsResponseGroup()
			r.Group, r.GroupState = g.name, "Empty"
			resp.Groups = append(resp.Groups, r)
		}
	}
	reply(resp)
}

// deleteGroups deletes groups with all they have committed, pending values included.
func (b *Broker) deleteGroups(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.DeleteGroupsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	for _, name := range req.Groups {
		r := kmsg.NewDeleteGroupsResponseGroup()
		r.Group = name
		o := b.c.groupPartition(name).group
		if r.ErrorCode = o.get(b, name); r.ErrorCode == ok && !o.drop(name) {
			r.ErrorCode = groupIDNotFound
		}
		resp.Groups = append(resp.Groups, r)
	}
	reply(resp)
}

// offsetDelete forgets single offsets of a group, pending values included.
func (b *Broker) offsetDelete(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.OffsetDeleteRequest)
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	o := b.c.groupPartition(req.Group).group
	g := o.byName[req.Group]
	if resp.ErrorCode = o.get(b, req.Group); resp.ErrorCode == ok && g == nil {
		resp.ErrorCode = groupIDNotFound
	}
	if resp.ErrorCode != ok {
		reply(resp)
		return
	}
	pending := g.pending() // an older coordinator remembers that there were some
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic}
		for _, q := range t.Partitions {
			r := kmsg.OffsetDeleteResponseTopicPartition{Partition: q.Partition}
			if b.partition(t.Topic, q.Partition) == nil {
				r.ErrorCode = unknownTopicOrPartition
			} else if s := g.find(TopicPartition{Topic: t.Topic, Partition: q.Partition}); s != nil {
				s.clear()
			}
			rt.Partitions = append(rt.Partitions, r)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if b.profile.DropsEmptyGroup && !pending && !g.committed() {
		o.drop(g.name)
	}
	reply(resp)
}
