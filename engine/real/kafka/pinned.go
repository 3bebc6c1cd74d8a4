package kafka

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
)

// pinned is a request at one version. The client asks it for the highest version, sets the one that the broker can, and
// calls AppendTo exactly to write it; after Request has returned an error none of these is called any more.
type pinned struct {
	kmsg.Request
	want    int16
	got     atomic.Int32 // the other version that was possible; -1: none was set
	sent    atomic.Bool  // AppendTo was called
	passed  atomic.Bool  // onward was called
	cancel  context.CancelFunc
	onward  func() // written, or failed: the next request may start
	context context.Context
}

func pin(req kmsg.Request, onward func()) *pinned {
	p := &pinned{Request: req, want: req.GetVersion(), onward: onward}
	p.got.Store(-1)
	p.context, p.cancel = context.WithCancel(context.Background())
	return p
}

func (p *pinned) MaxVersion() int16 { return p.want }

// SetVersion refuses another version: the client looks at the context once more before it writes, so nothing is written, and
// the connection lives.
func (p *pinned) SetVersion(v int16) {
	if v != p.want {
		p.got.Store(int32(v))
		p.cancel()
		return
	}
	p.Request.SetVersion(v)
}

func (p *pinned) AppendTo(b []byte) []byte {
	p.sent.Store(true)
	p.pass()
	return p.Request.AppendTo(b)
}

func (p *pinned) pass() {
	if p.passed.CompareAndSwap(false, true) {
		p.onward()
	}
}

// timed has the timeout that the broker is told, so that the answer is waited for that much longer. The client reads it from
// the type of a request, which the wrapper hides.
type timed struct {
	*pinned
	millis int32
}

func (t timed) Timeout() int32 { return t.millis }

// wrapped is what is handed to the client.
func (p *pinned) wrapped() kmsg.Request {
	switch r := p.Request.(type) {
	case *kmsg.FetchRequest:
		return timed{p, r.MaxWaitMillis}
	case kmsg.TimeoutRequest:
		return timed{p, r.Timeout()}
	}
	return p
}

// refused says why a request cannot be sent at all; nil if it can.
func refused(req kmsg.Request) error {
	if v, most := req.GetVersion(), req.MaxVersion(); v < 0 || v > most {
		return fmt.Errorf("%w: %s v%d is not known, v%d is the newest", broker.ErrNotSent, name(req), v, most)
	}
	if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
		return fmt.Errorf("%w: Produce with acks=0 has no answer", broker.ErrNotSent)
	}
	return nil
}

// outcome turns the client's answer into the port's: definite only if the request was never written.
func (p *pinned) outcome(to string, sent bool, err error) error {
	switch got := p.got.Load(); {
	case err == nil:
		return nil
	case !sent && got >= 0:
		return fmt.Errorf("%w: %s v%d to %s: the broker can only v%d", broker.ErrNotSent, name(p.Request), p.want, to, got)
	case !sent:
		return fmt.Errorf("%w: %s to %s: %w", broker.ErrNotSent, name(p.Request), to, err)
	}
	return fmt.Errorf("%s to %s: outcome unknown: %w", name(p.Request), to, err)
}

func name(req kmsg.Request) string { return kmsg.NameForKey(req.Key()) }
