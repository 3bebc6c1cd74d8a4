package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/onefold/onefold/faults"
)

// target is the processes of an ordeal as a plan strikes them.
type target struct{ o *ordeal }

var (
	_ faults.Target  = target{}
	_ faults.Locator = target{}
)

func (o *ordeal) target() faults.Target { return target{o} }

// Now implements faults.Target.
func (t target) Now() time.Duration {
	if t.o.began.IsZero() {
		return 0
	}
	return time.Since(t.o.began)
}

// After implements faults.Target.
func (t target) After(d time.Duration, fn func()) {
	time.AfterFunc(d, func() { t.o.mail.post(fn) })
}

// Nodes implements faults.Target.
func (t target) Nodes() []faults.Node {
	var all []faults.Node
	for i := range t.o.brokers.addresses() {
		all = append(all, faults.Node{Name: "broker" + strconv.Itoa(i), Role: faults.Broker})
	}
	for _, v := range t.o.victims {
		all = append(all, faults.Node{Name: v.name, Role: faults.Process})
	}
	return all
}

// InFlight implements faults.Target. While input comes and a process runs the job, records are on their way through it and
// through the brokers: the processes ask and write without a pause.
func (t target) InFlight(node string) bool {
	if v := t.victim(node); v != nil {
		return v.up() && v.running.worked && !t.o.generated
	}
	for _, v := range t.o.victims {
		if v.up() && v.running.worked && !t.o.generated {
			return true
		}
	}
	return false
}

func (t target) victim(node string) *victim {
	for _, v := range t.o.victims {
		if v.name == node {
			return v
		}
	}
	return nil
}

// broker is the number of a broker; -1: the node is none.
func (t target) broker(node string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(node, "broker"))
	if err != nil || n < 0 || n >= len(t.o.downs) {
		return -1
	}
	return n
}

// Do implements faults.Target.
func (t target) Do(a faults.Action) bool {
	switch a.Op {
	case faults.Crash, faults.Restart, faults.Pause, faults.Resume:
		if v := t.victim(a.Node); v != nil {
			return t.process(a.Op, v)
		}
		return t.strikeBroker(a.Op, t.broker(a.Node))
	case faults.Cut, faults.Join, faults.SlowLink:
		return t.link(a)
	case faults.Calm:
		for _, row := range t.o.proxies {
			for _, p := range row {
				p.set(toBroker, way{})
				p.set(toProcess, way{})
			}
		}
		return true
	}
	return false
}

func (t target) process(op faults.Op, v *victim) bool {
	o, pid, standing := t.o, v.pid(), t.standing(v)
	switch op {
	case faults.Crash:
		if !v.kill() {
			return false
		}
		o.note("kill -9 %s (pid %d): %s", v.name, pid, standing)
	case faults.Restart:
		if v.up() {
			return false
		}
		if err := v.start(); err != nil {
			o.failure = err
			return false
		}
		o.note("%s started again, pid %d", v.name, v.pid())
	case faults.Pause:
		if !v.pause() {
			return false
		}
		o.note("SIGSTOP %s (pid %d): %s", v.name, pid, standing)
	case faults.Resume:
		if !v.resume() {
			return false
		}
		o.note("SIGCONT %s (pid %d)", v.name, pid)
	}
	return true
}

// standing is where a process stood: what the job log has, and the newest hook passed.
func (t target) standing(v *victim) string {
	l, err := readJobLog(t.o.state())
	if err != nil {
		return err.Error()
	}
	state, completed := l.state(), uint64(0)
	if state.Completed != nil {
		completed = uint64(state.Completed.Checkpoint)
	}
	return fmt.Sprintf("generation %d, checkpoint %d completed, %d confirmed, %d transactions undecided, last hook %v",
		state.Generation, completed, state.Confirmed, len(state.Undecided), v.last)
}

func (t target) strikeBroker(op faults.Op, i int) bool {
	o := t.o
	if i < 0 {
		return false
	}
	var err error
	switch op {
	case faults.Crash:
		if o.downs[i] {
			return false
		}
		o.downs[i] = true
		err = o.brokers.crash(i)
		o.note("kill -9 broker%d: %s", i, t.leads(i))
	case faults.Restart:
		if !o.downs[i] {
			return false
		}
		o.downs[i] = false
		o.note("broker%d is started again", i)
		go func() {
			err := o.brokers.restart(i)
			o.mail.post(func() {
				switch {
				case err != nil && !o.downs[i]:
					o.failure = fmt.Errorf("broker%d does not start again: %w", i, err)
				case err == nil:
					o.note("broker%d serves", i)
				}
			})
		}()
	case faults.Pause:
		err = o.brokers.pause(i)
		o.note("SIGSTOP broker%d: %s", i, t.leads(i))
	case faults.Resume:
		err = o.brokers.resume(i)
		o.note("SIGCONT broker%d", i)
	}
	if err != nil && !o.downs[i] {
		o.note("broker%d: %v", i, err)
		return false
	}
	return true
}

// leads says where the job stood when a broker was struck.
func (t target) leads(int) string {
	for _, v := range t.o.victims {
		if v.up() && v.running.worked {
			return t.standing(v)
		}
	}
	return "no process runs the job"
}

func (t target) link(a faults.Action) bool {
	v, i, direction := t.victim(a.Node), t.broker(a.Peer), toBroker
	if v == nil {
		v, i, direction = t.victim(a.Peer), t.broker(a.Node), toProcess
	}
	if v == nil || i < 0 {
		return false
	}
	number, _ := strconv.Atoi(strings.TrimPrefix(v.name, "process"))
	w := way{cut: a.Op == faults.Cut, delay: a.Delay}
	if a.Hit != nil {
		w.hit = func() { t.o.mail.post(a.Hit) }
	}
	t.o.proxies[number-1][i].set(direction, w)
	what := map[faults.Op]string{faults.Cut: "cut", faults.Join: "joined", faults.SlowLink: fmt.Sprintf("slower by %v", a.Delay)}[a.Op]
	t.o.note("%s -> %s %s", a.Node, a.Peer, what)
	return true
}

// Locate implements faults.Locator.
func (t target) Locate(part string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	count := make([]int, len(t.o.downs))
	add := func(node int32) {
		if node >= 0 && int(node) < len(count) {
			count[node]++
		}
	}
	if part == faults.Leader {
		details, err := t.o.admin.ListTopics(ctx, t.o.names[t.o.job.Outputs[0]])
		if err != nil {
			return ""
		}
		details.EachPartition(func(p kadm.PartitionDetail) { add(p.Leader) })
	} else {
		listed, err := t.o.admin.ListTransactions(ctx, nil, nil)
		if err != nil {
			return ""
		}
		for _, l := range listed { // order irrelevant: they are counted
			if l.State == "Ongoing" || strings.HasPrefix(l.State, "Prepare") {
				add(l.Coordinator)
			}
		}
	}
	best := 0
	for i, n := range count {
		if n > count[best] {
			best = i
		}
	}
	if count[best] == 0 {
		return ""
	}
	return "broker" + strconv.Itoa(best)
}

// stop ends all processes: with a savepoint where they run a job at rest, at once where they do not.
func (o *ordeal) stop(atRest bool) {
	o.stopping = true
	for _, v := range o.victims {
		if v.up() && atRest {
			v.running.killed = true // its end is asked for
			_ = v.running.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	for _, v := range o.victims {
		if !v.up() {
			continue
		}
		if atRest {
			select {
			case <-v.running.ended:
				o.mail.drain()
				continue
			case <-time.After(30 * time.Second):
				o.note("%s does not end after SIGTERM: killed", v.name)
			}
		}
		v.kill()
	}
	o.mail.drain()
}

// close ends what still runs.
func (o *ordeal) close() {
	for _, v := range o.victims {
		v.kill()
	}
	for _, row := range o.proxies {
		for _, p := range row {
			p.close()
		}
	}
	if o.admin != nil {
		o.admin.Close()
	}
}
