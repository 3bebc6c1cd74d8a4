package envtest

import (
	"fmt"
	"time"
)

var loopCases = []testCase{
	{"PostsRunInOrderAndNeverInside", func(x *run) {
		// A completion that ran inside the call would find its caller half way through its own change of state.
		l := x.w.Process("a").NewLoop("l")
		var n note
		l.Post(func() {
			for i := range 3 {
				l.Post(func() { n.add("post %d", i) })
			}
			n.add("end of the callback")
		})
		x.wait("posts", func() bool { return n.len() == 4 })
		n.expect(x, "end of the callback", "post 0", "post 1", "post 2")
	}},
	{"PostsOfOneLoopToAnotherKeepTheirOrder", func(x *run) {
		// The exchange between subtasks hands over batches by posts; swapped batches are records out of order.
		p := x.w.Process("a")
		from, to := p.NewLoop("from"), p.NewLoop("to")
		var n note
		const many = 500
		var send func(i int)
		send = func(i int) {
			if i < many {
				to.Post(func() { n.add("%d", i) })
				if i%7 == 0 {
					from.Post(func() { send(i + 1) })
				} else {
					send(i + 1)
				}
			}
		}
		from.Post(func() { send(0) })
		x.wait("posts", func() bool { return n.len() == many })
		for i, s := range n.all() {
			if s != fmt.Sprint(i) {
				x.Fatalf("at %d came %s", i, s)
			}
		}
	}},
	{"OneCallbackAtATime", func(x *run) {
		// State of an actor has no lock: two callbacks of one loop at the same time are a data race.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		counter, inside := 0, false
		var n note
		for i := range 4 {
			other := p.NewLoop(fmt.Sprint("other", i))
			for range 100 {
				other.Post(func() {
					l.Post(func() {
						if inside {
							n.add("overlap")
						}
						inside = true
						counter++
						if counter == 400 {
							n.add("400")
						}
						inside = false
					})
				})
			}
		}
		x.wait("400 posts", func() bool { return n.has("400") })
		n.expect(x, "400")
	}},
	{"CloseDropsWhatIsQueued", func(x *run) {
		// What was asked by tasks of generation 3 would arrive at those of generation 4.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		var n note
		l.Post(func() {
			l.Post(func() { n.add("queued post") })
			l.After(0, func() { n.add("due timer") })
			l.After(time.Millisecond, func() { n.add("later timer") })
			p.Workers(l).Offload(func() {}, func() { n.add("completion") })
			l.Close()
			l.Post(func() { n.add("post after close") })
			l.After(0, func() { n.add("timer after close") })
			n.add("end of the callback")
		})
		x.wait("the callback", func() bool { return n.len() >= 1 })
		x.linger(p, 20*time.Millisecond)
		n.expect(x, "end of the callback")
	}},
	{"OnCloseRunsOnceAndLast", func(x *run) {
		// A script would never be unwound, or would be unwound from inside itself.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		var n note
		l.Post(func() {
			l.OnClose(func() { n.add("first") })
			l.OnClose(func() { n.add("second") })
			l.Close()
			l.Close()
			n.add("end of the callback")
		})
		x.wait("closed", func() bool { return n.len() >= 3 })
		x.linger(p, 10*time.Millisecond)
		n.expect(x, "end of the callback", "first", "second")
	}},
	{"AnotherLoopMayClose", func(x *run) {
		// A TaskManager could not end the tasks of an older generation.
		p := x.w.Process("a")
		l, manager := p.NewLoop("l"), p.NewLoop("manager")
		var n note
		l.OnClose(func() { n.add("closed") })
		manager.Post(func() {
			l.Close()
			l.Post(func() { n.add("post") })
		})
		x.wait("closed", func() bool { return n.len() >= 1 })
		x.linger(p, 10*time.Millisecond)
		n.expect(x, "closed")
	}},
	{"CrashDropsAllLoops", func(x *run) {
		// A dead process would go on writing.
		p := x.w.Process("a")
		bystander := x.w.Process("b")
		var n note
		for _, name := range []string{"one", "two"} {
			l := p.NewLoop(name)
			l.OnClose(func() { n.add("closed") })
			l.After(5*time.Millisecond, func() { n.add("timer") })
		}
		x.w.Crash("a")
		x.wait("closed", func() bool { return n.len() >= 2 })
		x.linger(bystander, 30*time.Millisecond)
		n.expect(x, "closed", "closed")
	}},
	{"ProcessesHaveNamesAndDifferentNonces", func(x *run) {
		// A writer would take another's entry in the job log for its own.
		p, q := x.w.Process("a"), x.w.Process("b")
		x.w.Crash("a")
		again := x.w.Process("a")
		if p.Nonce == q.Nonce || p.Nonce == again.Nonce || q.Nonce == again.Nonce {
			x.Fatalf("nonces %x %x %x", p.Nonce, q.Nonce, again.Nonce)
		}
		if p.Name != again.Name || p.Name == q.Name || p.Name == "" {
			x.Fatalf("names %q %q %q", p.Name, q.Name, again.Name)
		}
	}},
}
