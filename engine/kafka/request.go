package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
)

// ErrTimeout says that no answer came in time: the outcome is unknown.
var ErrTimeout = errors.New("no answer in time")

// kindBackoff draws the jitter of a pause: by process, what waits, and the number of the try.
const kindBackoff = env.KindKafka + 1

// send sends a request whose version is set. Its outcome is unknown after RequestTimeout and extra; a later answer is
// dropped.
func (c *Client) send(class broker.Class, node int32, req kmsg.Request, extra time.Duration, done func(kmsg.Response, error)) {
	k := c.newCall()
	k.key, k.node, k.done = req.Key(), node, done
	c.await(&k.deadline, c.cfg.RequestTimeout+extra)
	c.ports[class].Send(node, req, k.answer)
}

// call is a request under way. It is used again when it was answered.
type call struct {
	deadline
	c      *Client
	key    int16
	node   int32
	done   func(kmsg.Response, error) // nil once it was called
	answer func(kmsg.Response, error)
}

func (c *Client) newCall() *call {
	if n := len(c.calls); n > 0 {
		k := c.calls[n-1]
		c.calls = c.calls[:n-1]
		return k
	}
	k := &call{c: c}
	k.late, k.answer = k.expired, k.answered
	return k
}

func (k *call) expired() {
	if done := k.done; done != nil && !k.c.closed {
		k.done = nil
		done(nil, fmt.Errorf("%s to node %d: %w", kmsg.NameForKey(k.key), k.node, ErrTimeout))
	}
}

func (k *call) answered(resp kmsg.Response, err error) {
	c, done := k.c, k.done
	if c.closed {
		return
	}
	if done == nil {
		c.calls = append(c.calls, k) // too late
		return
	}
	key, node := k.key, k.node
	k.done = nil
	c.met(&k.deadline)
	c.calls = append(c.calls, k)
	if err != nil {
		c.doubt(node, key, err)
		err = fmt.Errorf("%s to node %d: %w", kmsg.NameForKey(key), node, err)
	}
	done(resp, err)
}

// sendBoth is send for two frames in one write.
func (c *Client) sendBoth(node int32, first, second kmsg.Request, done func(a, b kmsg.Response, err error)) {
	answered := false
	timer := c.cfg.Loop.After(c.cfg.RequestTimeout, func() {
		if !answered && !c.closed {
			answered = true
			done(nil, nil, ErrTimeout)
		}
	})
	c.ports[broker.Control].SendBoth(node, first, second, func(a, b kmsg.Response, err error) {
		if answered || c.closed {
			return
		}
		answered = true
		timer.Stop()
		c.doubt(node, first.Key(), err)
		done(a, b, err)
	})
}

// later calls fn on the loop unless the client is closed by then.
func (c *Client) later(fn func()) {
	c.cfg.Loop.Post(func() {
		if !c.closed {
			fn()
		}
	})
}

// pause is the length of the pause before a try: doubling, with jitter from half of it upwards.
func (c *Client) pause(what string, try int) time.Duration {
	d := c.cfg.BackoffMax
	if try < 20 {
		d = min(d, c.cfg.BackoffMin<<try)
	}
	half := uint64(d / 2)
	return time.Duration(half + c.cfg.Process.Draw(kindBackoff, c.cfg.Process.Nonce, hashString(what), uint64(try))%(half+1))
}

// after calls fn after the pause before a try.
func (c *Client) after(what string, try int, fn func()) env.Timer {
	return c.cfg.Loop.After(c.pause(what, try), func() {
		if !c.closed {
			fn()
		}
	})
}

// repeat runs attempt until it stops asking for another one, or fails after limit with the last reason. A code that no
// repetition helps, as of missing rights, fails at once.
func (c *Client) repeat(what string, limit time.Duration, attempt func(again func(error)), failed func(error)) {
	deadline := c.cfg.Process.Now().Add(limit)
	try := 0
	var again func(error)
	again = func(err error) {
		if hopeless(err) {
			failed(fmt.Errorf("%s: %w", what, err))
			return
		}
		if c.cfg.Process.Now() >= deadline {
			failed(fmt.Errorf("%s: given up after %s: %w", what, limit, err))
			return
		}
		c.after(what, try, func() { attempt(again) })
		try++
	}
	attempt(again)
}

// hopeless reports whether a broker has refused for a reason that stays. UNKNOWN_SERVER_ERROR may pass, and to
// UNSUPPORTED_VERSION another version is the answer.
func hopeless(err error) bool {
	var code Code
	return errors.As(err, &code) && code.Class() == Refused && code != UnknownServerError && code != UnsupportedVersion
}

// notSent makes an error that says that nothing was sent.
func notSent(format string, args ...any) error {
	return fmt.Errorf("%w: %w", fmt.Errorf(format, args...), broker.ErrNotSent)
}

// hashString is FNV-1a: stable over processes.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
