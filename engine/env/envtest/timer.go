package envtest

import (
	"time"

	"github.com/onefold/onefold/engine/env"
)

var timerCases = []testCase{
	{"TimersRunNotBeforeTheirTime", func(x *run) {
		// A timeout would expire what has time left.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		var n note
		l.Post(func() {
			for _, d := range []time.Duration{0, time.Microsecond, time.Millisecond, 20 * time.Millisecond} {
				from := p.Now()
				l.After(d, func() {
					if took := p.Now().Sub(from); took < d {
						n.add("after %v, not %v", took, d)
					} else {
						n.add("fine")
					}
				})
			}
		})
		x.wait("timers", func() bool { return n.len() == 4 })
		n.expect(x, "fine", "fine", "fine", "fine")
	}},
	{"TimersRunInTheOrderOfTheirTimes", func(x *run) {
		// An expiry that was set for later would win against the one before it.
		l := x.w.Process("a").NewLoop("l")
		var n note
		l.Post(func() {
			l.After(30*time.Millisecond, func() { n.add("30") })
			l.After(10*time.Millisecond, func() { n.add("10") })
			l.After(20*time.Millisecond, func() { n.add("20") })
			l.After(0, func() { n.add("0") })
			n.add("end of the callback")
		})
		x.wait("timers", func() bool { return n.len() == 5 })
		n.expect(x, "end of the callback", "0", "10", "20", "30")
	}},
	{"StoppedTimersDoNotRun", func(x *run) {
		// A checkpoint that completed would be declared expired.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		var n note
		l.Post(func() {
			t := l.After(10*time.Millisecond, func() { n.add("stopped timer ran") })
			n.add("stop %v, again %v", t.Stop(), t.Stop())
		})
		x.wait("the callback", func() bool { return n.len() >= 1 })
		x.linger(p, 30*time.Millisecond)
		n.expect(x, "stop true, again false")
	}},
	{"StopTellsThatItCameTooLate", func(x *run) {
		// Who stops a timer must know whether its callback has run.
		l := x.w.Process("a").NewLoop("l")
		var n note
		x.do(l, func() {
			var t env.Timer
			t = l.After(0, func() {
				n.add("ran")
				n.add("stop %v", t.Stop())
			})
		})
		x.wait("the timer", func() bool { return n.len() == 2 })
		n.expect(x, "ran", "stop false")
	}},
	{"StopHoldsForATimerThatIsDueAndWaits", func(x *run) {
		// The loop was busy while the timer became due; the callback before it stops it, and it must not run.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		var n note
		x.do(l, func() {
			var second env.Timer
			l.After(5*time.Millisecond, func() { n.add("first stops the second: %v", second.Stop()) })
			second = l.After(5*time.Millisecond, func() { n.add("second") })
			l.Spend(20 * time.Millisecond)
		})
		x.wait("the first", func() bool { return n.len() >= 1 })
		x.linger(p, 40*time.Millisecond)
		n.expect(x, "first stops the second: true")
	}},
	{"TheClockNeverGoesBack", func(x *run) {
		// Bounds are differences of instants.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		var n note
		last, ticks := p.Now(), 0
		var tick func()
		tick = func() {
			now := p.Now()
			if now < last {
				n.add("back by %v", last.Sub(now))
			}
			last = now
			if ticks++; ticks == 100 {
				n.add("done")
				return
			}
			l.After(50*time.Microsecond, tick)
		}
		l.Post(tick)
		x.wait("100 ticks", func() bool { return n.has("done") })
		n.expect(x, "done")
		if p.Wall().Year() < 2000 {
			x.Fatalf("wall clock %v", p.Wall())
		}
	}},
}

var workerCases = []testCase{
	{"WorkComesBackLater", func(x *run) {
		// A completion inside the call, or before its work.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		var n note
		x.do(l, func() {
			sum := 0
			p.Workers(l).Offload(func() {
				for i := range 1000 {
					sum += i
				}
			}, func() { n.add("sum %d", sum) })
			n.add("end of the callback")
		})
		x.wait("the work", func() bool { return n.len() == 2 })
		n.expect(x, "end of the callback", "sum 499500")
	}},
	{"MuchWorkAllComesBack", func(x *run) {
		// An upload that never comes back is a checkpoint that never completes.
		p := x.w.Process("a")
		l := p.NewLoop("l")
		var n note
		workers := p.Workers(l)
		l.Post(func() {
			back := 0
			for i := range 100 {
				v := 0
				workers.Offload(func() { v = i }, func() {
					if back++; v != i {
						n.add("work %d was not done", i)
					}
					if back == 100 {
						n.add("all")
					}
				})
			}
		})
		x.wait("the work", func() bool { return n.has("all") })
		n.expect(x, "all")
	}},
}
