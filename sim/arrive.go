package sim

// arrive is called when an item has travelled to this end: it joins the queue of the end's loop, unless the connection
// broke meanwhile.
func (l *Link) arrive(it *item) {
	if l.closed {
		return
	}
	if it.kind != entryClose && l.w.now > l.peer.cutAt {
		return
	}
	if it.kind == entryAccept && !l.accept() {
		return
	}
	if l.loop == nil { // closed by the peer before it arrived
		l.closed = true
		l.wire.settle()
		return
	}
	it.loop = l.loop
	l.loop.deliver(it)
}

// accept finds who listens at this end. If nobody does the connection is refused.
func (l *Link) accept() bool {
	s := l.node.listener(l.wire.port)
	if s == nil {
		l.Break(ErrRefused)
		return false
	}
	l.loop = s.loop
	return true
}

// handle runs an item on the loop of this end.
func (l *Link) handle(it *item) {
	if l.closed {
		return
	}
	switch it.kind {
	case entryAccept:
		if s := l.node.listener(l.wire.port); s != nil {
			if l.h = s.accept(l); l.h == nil {
				l.Close()
			}
		}
	case entryMessage:
		if l.h != nil {
			l.h.OnLinkMessage(l, it.msg)
		}
	case entryClose:
		l.closed = true
		l.wire.settle()
		if l.h != nil {
			l.h.OnLinkClose(l, it.msg.(error))
		}
	}
}
