package sim

// arrive is called when an item has travelled to this end: it joins the queue of the end's loop, unless the connection
// broke meanwhile.
func (l *Link) arrive(it *item) {
	switch it.kind {
	case entryMessage:
		if l.closed || l.w.now > l.peer.cutAt || l.loop == nil {
			return
		}
	case entryAccept:
		if l.closed || l.w.now > l.peer.cutAt || !l.accept() {
			return
		}
	case entryClose:
		if l.closed {
			return
		}
		if l.loop == nil {
			l.closed = true
			l.count()
			return
		}
	}
	it.loop = l.loop
	l.loop.deliver(it)
}

// accept finds who listens at this end. If nobody does the connection is refused.
func (l *Link) accept() bool {
	if l.node.Up() {
		for _, s := range l.node.inc.listen {
			if s.port == l.port && !s.loop.closed {
				l.loop = s.loop
				return true
			}
		}
	}
	l.closed = true
	l.cutBoth(l.w.now)
	l.peer.tell(ErrRefused)
	return false
}

// handle runs an item on the loop of this end.
func (l *Link) handle(it *item) {
	if l.closed {
		return
	}
	switch it.kind {
	case entryAccept:
		for _, s := range l.loop.inc.listen {
			if s.port == l.port {
				l.h = s.accept(l)
				return
			}
		}
	case entryMessage:
		if l.h != nil {
			l.h.OnLinkMessage(l, it.msg)
		}
	case entryClose:
		l.closed = true
		l.count()
		if l.h != nil {
			l.h.OnLinkClose(l, it.msg.(error))
		}
	}
}
