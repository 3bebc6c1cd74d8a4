package brokerfuzz

import "fmt"

// actor is a producer of the sequence and what it believes to be.
type actor struct {
	Producer
	id    string // on the cluster; empty: none
	index int    // of its id; -1: none
	pid   int64  // -1: it has not been told
	epoch int16
	parts []written
}

// written is what an actor has written to one partition with its identity.
type written struct {
	next  int32
	acked []sentBatch
}

type sentBatch struct {
	sequence int32
	records  int
	stamp    int // the operation that made it
}

// become takes a new identity. Sequences begin again.
func (a *actor) become(pid int64, epoch int16) {
	if pid == a.pid && epoch == a.epoch {
		return
	}
	a.pid, a.epoch = pid, epoch
	for i := range a.parts {
		a.parts[i] = written{}
	}
}

// identity is what a request of the actor says that it is.
func (a *actor) identity(as string) (pid int64, epoch int16) {
	pid, epoch = a.pid, a.epoch
	switch as {
	case "previous":
		epoch = max(epoch-1, 0)
	case "older":
		epoch = max(epoch-2, 0)
	case "ahead":
		epoch++
	case "foreign":
		pid = foreign
	}
	return pid, epoch
}

// foreign is a producer id that no cluster hands out here.
const foreign = int64(1) << 50

// batch chooses the sequence of the next batch.
func (w *written) batch(choice string, records, stamp int) sentBatch {
	b := sentBatch{w.next, records, stamp}
	switch choice {
	case "gap":
		b.sequence += 2
	case "zero":
		b.sequence = 0
	case "dup":
		if n := len(w.acked); n > 0 {
			b = w.acked[n-1]
		}
	case "old":
		if len(w.acked) > 0 {
			b = w.acked[0]
		}
	}
	return b
}

// took notes that a batch is in the log.
func (w *written) took(b sentBatch) {
	for _, known := range w.acked {
		if known == b {
			return
		}
	}
	w.acked = append(w.acked, b)
	w.next = b.sequence + int32(b.records)
}

// pid is a producer id by the order of appearance.
func (r *run) pid(pid int64) string {
	switch {
	case pid < 0:
		return "none"
	case pid == foreign:
		return "foreign"
	}
	for i, known := range r.pids {
		if known == pid {
			return fmt.Sprintf("p%d", i)
		}
	}
	r.pids = append(r.pids, pid)
	return fmt.Sprintf("p%d", len(r.pids)-1)
}

func (r *run) identity(pid int64, epoch int32) string {
	if pid < 0 && epoch < 0 {
		return "none"
	}
	return fmt.Sprintf("%s/%d", r.pid(pid), epoch)
}
