// Package exchange moves batches between the subtasks of a job: by handing them over within a process, by frames between
// processes. There is one Exchange per TaskManager.
//
// Each channel has credits. A sender may have as many batches under way as the receiver has granted; a receiver grants one
// back for each batch that it has read to the end. So a receiver that is blocked or busy stops its senders, and nothing is
// buffered beyond the credits.
//
// A connection belongs to one generation, which its first frame names, and so does every frame: nothing of an older
// generation enters a newer one. A connection that breaks fails the tasks at both of its ends; there is no reconnecting
// within a generation.
package exchange

import (
	"slices"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/proc"
)

// Options are chosen by the world.
type Options struct {
	// Credits per channel; 4 if zero.
	Credits int
	// Frames makes channels within the process carry frames, too; DrawFrames draws it for each channel.
	Frames, DrawFrames bool
}

// drawFrames decides whether a channel within the process carries frames: (edge, sending index, receiving index).
const drawFrames = env.KindTask + 1

// Exchange is the data mover of one TaskManager. Its state belongs to its loop; Output and Input may be called from any.
type Exchange struct {
	p         *proc.Process
	loop      env.Loop
	opt       Options
	transport env.Transport

	newest    id.Generation // of any end
	senders   []*Sender     // within the process, whose receiver is not here yet
	receivers []*Receiver   // whose sender is not here yet
	links     []*link       // to and from other processes
}

// New makes the exchange of a process. It owns the process's listener. loop is the TaskManager's, or one of its own.
func New(p *proc.Process, loop env.Loop, opt Options) *Exchange {
	if opt.Credits == 0 {
		opt.Credits = 4
	}
	x := &Exchange{p: p, loop: loop, opt: opt, transport: p.Transport(loop)}
	x.transport.Listen(x.accept)
	return x
}

// Output makes the sending end of a channel whose receiver runs in process to.
func (x *Exchange) Output(to env.Addr, end End) *Sender {
	s := &Sender{end: end, ex: x}
	x.loop.Post(func() { x.addSender(to, s) })
	return s
}

// Input makes the receiving end of a channel.
func (x *Exchange) Input(end End) *Receiver {
	r := &Receiver{end: end, ex: x}
	x.loop.Post(func() { x.addReceiver(r) })
	return r
}

func (x *Exchange) addSender(to env.Addr, s *Sender) {
	x.see(s.end.Generation)
	if to != x.p.Name {
		x.dialled(to, s.end.Generation).addSender(s)
		return
	}
	for i, r := range x.receivers {
		if same(&s.end, &r.end) {
			x.receivers = slices.Delete(x.receivers, i, i+1)
			x.join(s, r)
			return
		}
	}
	x.senders = append(x.senders, s)
}

func (x *Exchange) addReceiver(r *Receiver) {
	x.see(r.end.Generation)
	for i, s := range x.senders {
		if same(&s.end, &r.end) {
			x.senders = slices.Delete(x.senders, i, i+1)
			x.join(s, r)
			return
		}
	}
	for _, l := range x.links {
		if l.accepts(r) {
			l.addReceiver(r)
			return
		}
	}
	x.receivers = append(x.receivers, r)
}

func same(a, b *End) bool { return a.Generation == b.Generation && a.Channel == b.Channel }

// join connects two ends of this process.
func (x *Exchange) join(s *Sender, r *Receiver) {
	in := inbound(&local{s, r})
	if x.frames(s.end.Channel) {
		in = &framed{s, r}
	}
	r.end.Loop.Post(func() { r.attach(in) })
}

func (x *Exchange) frames(c graph.Channel) bool {
	if x.opt.DrawFrames {
		return x.p.Draw(drawFrames, uint64(c.Edge), uint64(c.From.Index), uint64(c.To.Index))&1 == 1
	}
	return x.opt.Frames
}

func (x *Exchange) removeSender(s *Sender) {
	x.senders = slices.DeleteFunc(x.senders, func(o *Sender) bool { return o == s })
	for _, l := range slices.Clone(x.links) {
		l.removeSender(s)
	}
}

func (x *Exchange) removeReceiver(r *Receiver) {
	x.receivers = slices.DeleteFunc(x.receivers, func(o *Receiver) bool { return o == r })
	for _, l := range slices.Clone(x.links) {
		l.removeReceiver(r)
	}
}

// see learns of a generation and ends the connections of older ones that nobody here uses. A connection whose first frame is
// still under way belongs to no generation yet: it may well be the newest one's.
func (x *Exchange) see(g id.Generation) {
	if g <= x.newest {
		return
	}
	x.newest = g
	for _, l := range slices.Clone(x.links) {
		if l.greeted && l.generation < g && len(l.senders)+len(l.receivers) == 0 {
			l.stop()
		}
	}
}

// dialled is the connection to a process for this generation.
func (x *Exchange) dialled(to env.Addr, g id.Generation) *link {
	for _, l := range x.links {
		if l.dialled && l.peer == to && l.generation == g {
			return l
		}
	}
	l := &link{x: x, dialled: true, peer: to, generation: g, greeted: true}
	l.conn = x.transport.Dial(to, l)
	x.links = append(x.links, l)
	l.send(frame{kind: hello})
	return l
}

func (x *Exchange) accept(c env.Conn) env.Handler {
	l := &link{x: x, conn: c, peer: c.Peer()}
	x.links = append(x.links, l)
	return l
}

func (x *Exchange) drop(l *link) {
	i := slices.Index(x.links, l)
	invariant.Check(i >= 0, "connection with %s dropped twice", l.peer)
	x.links = slices.Delete(x.links, i, i+1)
}
