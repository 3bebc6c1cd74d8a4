package loop

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
)

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: not within 20 s", what)
	}
}

// An actor would see its own messages out of order, or two at a time.
func TestPostsOfEachPosterRunInOrderOneAtATime(t *testing.T) {
	l := New("test", NewClock())
	defer l.Close()
	const posters, each = 8, 5000
	var (
		inside atomic.Int32
		next   [posters]int
		seen   int
		all    = make(chan struct{})
		wg     sync.WaitGroup
	)
	for p := range posters {
		wg.Go(func() {
			for i := range each {
				l.Post(func() {
					if inside.Add(1) != 1 {
						t.Error("two callbacks at a time")
					}
					if next[p] != i {
						t.Errorf("poster %d: %d ran when %d was next", p, i, next[p])
					}
					next[p]++
					if seen++; seen == posters*each {
						close(all)
					}
					inside.Add(-1)
				})
			}
		})
	}
	wg.Wait()
	await(t, "all posts", all)
}

// Something of an older generation would arrive in a newer one.
func TestCloseDropsEverythingAndOnCloseIsLast(t *testing.T) {
	l := New("test", NewClock())
	var order []string
	l.Post(func() {
		l.OnClose(func() { order = append(order, "on close") })
		l.After(0, func() { order = append(order, "timer") })
		l.Post(func() { order = append(order, "post") })
		l.Close()
		order = append(order, "rest of the callback")
		l.Post(func() { order = append(order, "late post") })
		l.After(0, func() { order = append(order, "late timer") })
	})
	await(t, "end of the loop", l.Done())
	if got := fmt.Sprint(order); got != "[rest of the callback on close]" {
		t.Fatal(got)
	}
	ran := false
	l.OnClose(func() { ran = true })
	if !ran {
		t.Fatal("OnClose on an ended loop did not run: a script would never be stopped")
	}
}

// Checkpoints would be triggered out of order, or a cancelled timeout would strike.
func TestTimersRunInOrderOfTheirDeadlinesUnlessStopped(t *testing.T) {
	l := New("test", NewClock())
	defer l.Close()
	var order []int
	end := make(chan struct{})
	l.Post(func() {
		began := time.Now()
		for i, ms := range []int{30, 10, 20, 10, 0} {
			l.After(time.Duration(ms)*time.Millisecond, func() {
				if e := time.Since(began); e < time.Duration(ms)*time.Millisecond {
					t.Errorf("timer of %d ms ran after %v", ms, e)
				}
				order = append(order, i)
			})
		}
		stopped := l.After(15*time.Millisecond, func() { order = append(order, 99) })
		if !stopped.Stop() || stopped.Stop() {
			t.Error("Stop: want true once, then false")
		}
		var a env.Timer
		a = l.After(0, func() {
			if a.Stop() {
				t.Error("Stop prevented a callback that runs")
			}
		})
		l.After(50*time.Millisecond, func() { close(end) })
	})
	await(t, "timers", end)
	if got := fmt.Sprint(order); got != "[4 1 3 2 0]" {
		t.Fatal(got)
	}
}

// Two timers due in one batch: the first stops the second, which must not run.
func TestStopHoldsForATimerThatIsDueAlready(t *testing.T) {
	l := New("test", NewClock())
	defer l.Close()
	end := make(chan struct{})
	l.Post(func() {
		var second env.Timer
		l.After(0, func() {
			if !second.Stop() {
				t.Error("not stopped")
			}
		})
		second = l.After(0, func() { t.Error("ran though stopped") })
		time.Sleep(time.Millisecond)
		l.After(2*time.Millisecond, func() { close(end) })
	})
	await(t, "timers", end)
}

// A timer that sets itself again at once would starve every message.
func TestTimersDoNotStarvePosts(t *testing.T) {
	l := New("test", NewClock())
	defer l.Close()
	end := make(chan struct{})
	var again func()
	again = func() { l.After(0, again) }
	l.Post(again)
	time.Sleep(time.Millisecond)
	l.Post(func() { close(end) })
	await(t, "post", end)
}

func TestPoolIsBoundedAndAnswersOnTheLoop(t *testing.T) {
	l := New("test", NewClock())
	defer l.Close()
	w := NewPool(3).On(l)
	var now, most atomic.Int32
	left := 50
	end := make(chan struct{})
	for range left {
		w.Offload(func() {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
		}, func() {
			if left--; left == 0 {
				close(end)
			}
		})
	}
	await(t, "work", end)
	if m := most.Load(); m > 3 || m < 2 {
		t.Fatalf("%d at a time, bound 3", m)
	}
}

type handler struct {
	message func(env.Conn, []byte)
	closed  func(env.Conn, error)
}

func (h handler) OnMessage(c env.Conn, m []byte) { h.message(c, m) }
func (h handler) OnClose(c env.Conn, err error)  { h.closed(c, err) }

// A process whose death is not noticed would hold the job for ever.
func TestADeadProcessBreaksItsConnectionsAfterAPrefix(t *testing.T) {
	n, clock := NewNetwork(), NewClock()
	server, client := New("server", clock), New("client", clock)
	defer client.Close()
	got, end := 0, make(chan struct{})
	server.Post(func() {
		n.Transport("server", server).Listen(func(c env.Conn) env.Handler {
			for i := range 100 {
				c.Send([]byte{byte(i)})
			}
			server.Close()
			return handler{}
		})
		client.Post(func() {
			n.Transport("client", client).Dial("server", handler{
				message: func(_ env.Conn, m []byte) {
					if int(m[0]) != got {
						t.Errorf("message %d, want %d", m[0], got)
					}
					got++
				},
				closed: func(_ env.Conn, err error) {
					if err == nil {
						t.Error("closed without an error")
					}
					close(end)
				},
			})
		})
	})
	await(t, "break", end)
	if got != 100 {
		t.Fatalf("%d messages before the break, 100 were sent", got)
	}
	refused := make(chan struct{})
	client.Post(func() {
		n.Transport("client", client).Dial("server", handler{closed: func(env.Conn, error) { close(refused) }})
	})
	await(t, "refusal", refused)
}

func BenchmarkPost(b *testing.B) {
	l := New("bench", NewClock())
	defer l.Close()
	b.ReportAllocs()
	fn := func() {}
	for b.Loop() {
		l.Post(fn)
	}
	end := make(chan struct{})
	l.Post(func() { close(end) })
	<-end
}

// One message there and back between two loops.
func BenchmarkPingPong(b *testing.B) {
	x, y := New("x", NewClock()), New("y", NewClock())
	defer x.Close()
	defer y.Close()
	left, end := b.N, make(chan struct{})
	var there, back func()
	there = func() { y.Post(back) }
	back = func() {
		if left--; left <= 0 {
			close(end)
			return
		}
		x.Post(there)
	}
	b.ResetTimer()
	x.Post(there)
	<-end
}
