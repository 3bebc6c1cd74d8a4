package simbroker

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	handlers[15] = (*Broker).describeGroups
	handlers[16] = (*Broker).listGroups
	handlers[42] = (*Broker).deleteGroups
	handlers[47] = (*Broker).offsetDelete
}

// A group without members, as its coordinator shows it.
const (
	groupState = "Empty"
	groupType  = "classic"
)

// listGroups lists the groups that this broker coordinates; those that have only pending offsets, too.
func (b *Broker) listGroups(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.ListGroupsRequest)
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	wanted := (req.Version < 4 || filtered(req.StatesFilter, groupState)) && (req.Version < 5 || filtered(req.TypesFilter, groupType))
	for _, p := range b.c.offsets {
		switch {
		case p.leader != b.id || !wanted:
			continue
		case !p.group.loaded:
			resp.ErrorCode, resp.Groups = coordinatorLoading, nil
			reply(resp)
			return
		}
		for _, g := range p.group.groups {
			if g.gone {
				continue
			}
			r := kmsg.NewListGroupsResponseGroup()
			r.Group, r.GroupState, r.GroupType = g.name, groupState, groupType
			resp.Groups = append(resp.Groups, r)
		}
	}
	reply(resp)
}

// filtered reports whether a filter lets a value through; an empty one lets everything through.
func filtered(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, value) })
}

// describeGroups shows groups without members. One that does not exist is dead, and from version 6 on an error.
func (b *Broker) describeGroups(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.DescribeGroupsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	for _, name := range req.Groups {
		r := kmsg.NewDescribeGroupsResponseGroup()
		r.Group = name
		o := b.c.groupPartition(name).group
		switch r.ErrorCode = o.get(b, name); {
		case r.ErrorCode != ok:
		case o.known(name) != nil:
			r.State = groupState
		default:
			if r.State = "Dead"; req.Version >= 6 {
				r.ErrorCode = groupIDNotFound
			}
		}
		resp.Groups = append(resp.Groups, r)
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
	g := o.known(req.Group)
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
				o.clear(g, s)
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
