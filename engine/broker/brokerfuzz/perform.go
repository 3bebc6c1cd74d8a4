package brokerfuzz

import (
	"fmt"
	"time"
)

// perform performs one operation and returns its answer.
func (r *run) perform(o *Op) []string {
	a := r.actor(o.Producer)
	if needsIdentity(o) && a.pid < 0 {
		return []string{"has no identity"}
	}
	protocol := o.Protocol
	if protocol == 0 && a != nil {
		protocol = a.Protocol
	}
	switch o.Kind {
	case Init:
		return r.now(r.initRequest(a, o, protocol))
	case Add:
		return r.now(r.addRequest(a, o, protocol))
	case Offsets:
		return r.now(r.offsetsRequest(a, o, protocol))
	case Produce:
		return r.now(r.produceRequest(a, o, protocol))
	case Mark:
		r.touched = true
		return r.now(r.markRequest(a, o, protocol))
	case Commit:
		r.touched = true
		return r.now(r.commitRequest(o))
	case End:
		return r.now(r.endRequest(a, o, protocol))
	case Marker:
		return r.now(r.markerRequest(a, o, protocol))
	case DeleteRecords:
		return r.now(r.deleteRecordsRequest(o))
	case DeleteGroup:
		return r.now(r.deleteGroupRequest())
	case DeleteOffset:
		return r.now(r.deleteOffsetRequest(o))
	case Repeat:
		if o.Back > len(r.sent) {
			return []string{"no such request"}
		}
		return r.again(r.sent[len(r.sent)-o.Back])
	case Restart:
		a.become(-1, -1)
		return nil
	case Wait:
		return r.wait()
	}
	return r.look(a, o)
}

// look performs an operation that changes nothing.
func (r *run) look(a *actor, o *Op) []string {
	switch o.Kind {
	case Fetch:
		return r.again(r.fetchRequest(o.Partition, o.Isolation == "committed", r.place(o)))
	case ListOffsets:
		return r.again(r.listOffsetsRequest(o))
	case OffsetFetch:
		return r.again(r.offsetFetchRequest(o.Mode == "stable", o.All != ""))
	case Describe:
		return r.again(r.describeUnknownRequest(a))
	case List:
		return r.list(a)
	case Producers:
		return r.again(r.producersRequest(o.Partition, true))
	}
	return r.move(a, o)
}

// move moves a leader or a coordinator, where that can be done.
func (r *run) move(a *actor, o *Op) []string {
	switch {
	case r.o.Mover == nil:
		return []string{"there is one broker"}
	case o.Kind == MoveCoordinator && a.id == "":
		return []string{"has no transactional id"}
	}
	var err error
	r.do(func(done func()) {
		end := func(e error) { err = e; done() }
		if o.Kind == MoveLeader {
			r.o.Mover.MoveLeader(r.topic, o.Partition, end)
		} else {
			r.o.Mover.MoveCoordinator(a.id, end)
		}
	})
	if err != nil {
		r.fail("%s: %w", o, err)
	}
	for i := range r.cluster.leaders {
		r.cluster.leaders[i] = -1
	}
	r.cluster.at = nil
	return nil
}

func needsIdentity(o *Op) bool {
	switch o.Kind {
	case Add, Offsets, Mark, End, Marker:
		return true
	case Produce:
		return o.Form != "plain"
	case Init:
		return o.As != ""
	}
	return false
}

func (r *run) actor(name string) *actor {
	for _, a := range r.actors {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// short is what counts as a short timeout: others never pass in a run.
const short = 20 * time.Second

// wait waits until no transaction with a short timeout is open.
func (r *run) wait() []string {
	until := r.process.Now()
	for _, p := range r.seq.Producers {
		if p.Timeout < short {
			until = max(until, r.process.Now().Add(p.Timeout+r.o.Patience))
		}
	}
	for tries := 1; ; tries++ {
		open := false
		for _, t := range r.describe() {
			open = open || t.state == "Ongoing" && time.Duration(t.timeoutMs)*time.Millisecond < short
		}
		switch {
		case !open:
			return nil
		case tries >= fewest && r.process.Now() >= until:
			r.stuck = true
			return []string{"the timeout does not abort"}
		}
		r.sleep(25 * time.Millisecond)
	}
}

// place is the offset that an operation names.
func (r *run) place(o *Op) int64 {
	v := r.view.parts[o.Partition]
	switch o.At {
	case "start":
		return v.start
	case "high":
		return v.high
	case "beyond":
		return v.high + 5
	}
	var n int64
	_, _ = fmt.Sscan(o.At, &n) // the parser saw a number
	return n
}
