package simbroker

import (
	"fmt"
	"testing"
)

// The two matrices of EndTxn decide what a restore may conclude from an answer. A cell that is wrong here is a transaction
// taken for lost, or for committed.
func TestEndTxnMatrixOld(t *testing.T) {
	// commit, abort at the current epoch; one off it is always fenced.
	cells := []struct {
		state         TxnState
		commit, abort int16
	}{
		{Empty, invalidTxnState, invalidTxnState},
		{Ongoing, ok, ok},
		{CompleteCommit, ok, invalidTxnState},
		{CompleteAbort, invalidTxnState, ok},
	}
	for _, profile := range []string{"k44", "k44-tv0", "k39"} {
		for _, c := range cells {
			for _, commit := range []bool{true, false} {
				for off := int16(-1); off <= 1; off++ {
					name := fmt.Sprintf("%s %s commit=%v epoch%+d", profile, c.state, commit, off)
					r, x := inState(t, profile, c.state, 4)
					want := c.abort
					if commit {
						want = c.commit
					}
					if off != 0 {
						want = producerFenced
					}
					x.epoch += off
					equal(t, name, r.end(4, x, commit).ErrorCode, want)
					if off != 0 {
						r.ended("a")
						equal(t, name+" version 1", r.end(1, x, commit).ErrorCode, invalidProducerEpoch)
					}
					if off != 0 || want != ok {
						equal(t, name+" state", r.state("a"), c.state)
					}
				}
			}
		}
	}
}

func TestEndTxnMatrixNew(t *testing.T) {
	// epoch: -1 is one below (a repeat), 0 the current one, 1 above.
	type answer struct{ commit, abort int16 }
	cells := []struct {
		state               TxnState
		repeat, current, up answer
	}{
		{Empty, answer{90, 90}, answer{48, 0}, answer{90, 90}},
		{Ongoing, answer{90, 90}, answer{0, 0}, answer{90, 90}},
		{CompleteCommit, answer{0, 48}, answer{48, 0}, answer{90, 90}},
		{CompleteAbort, answer{48, 0}, answer{48, 0}, answer{90, 90}},
	}
	for _, profile := range []string{"k44", "k41", "k400"} {
		for _, c := range cells {
			for _, commit := range []bool{true, false} {
				for off := int16(-1); off <= 1; off++ {
					name := fmt.Sprintf("%s %s commit=%v epoch%+d", profile, c.state, commit, off)
					r, x := inState(t, profile, c.state, 5)
					want := [3]answer{c.repeat, c.current, c.up}[off+1]
					code := want.abort
					if commit {
						code = want.commit
					}
					before, _ := r.c.Transaction("a")
					y := x
					y.epoch += off
					e := r.end(5, y, commit)
					equal(t, name, e.ErrorCode, code)
					r.settleUnless(c.state == Ongoing)
					after, _ := r.c.Transaction("a")
					switch {
					case code != ok:
						equal(t, name+" identity", e.ProducerEpoch, -1)
						equal(t, name+" epoch", after.Epoch, before.Epoch)
					case off == -1:
						equal(t, name+" repeat", e.ProducerEpoch, before.Epoch)
						equal(t, name+" epoch", after.Epoch, before.Epoch)
					default:
						equal(t, name+" bump", e.ProducerEpoch, before.Epoch+1)
					}
				}
			}
		}
	}
}

func (r *rig) settleUnless(open bool) {
	r.t.Helper()
	if !open {
		r.settle()
	} else {
		r.ended("a")
	}
}

// inState makes id "a" with the current identity in a state, by the protocol of an EndTxn version.
func inState(t *testing.T, profile string, s TxnState, version int16) (*rig, identity) {
	t.Helper()
	r := newRig(t, 9, profile)
	r.init("a") // so that one epoch below exists
	x := r.init("a")
	if s == Empty {
		return r, x
	}
	v := int16(11)
	if version == 5 {
		v = 12
	} else {
		equal(t, "add", r.add(x, 0), ok)
	}
	code, _ := r.produce(v, x, 0, batchOf(x, 0, true, "x"))
	equal(t, "produce", code, ok)
	if s == Ongoing {
		return r, x
	}
	e := r.end(version, x, s == CompleteCommit)
	equal(t, "end", e.ErrorCode, ok)
	if version == 5 {
		x.epoch = e.ProducerEpoch
	}
	r.settle()
	equal(t, "state", r.state("a"), s)
	return r, x
}

// A committer that forgot which protocol wrote the transaction, and one that mixes them.
func TestMixedProtocols(t *testing.T) {
	r, x := inState(t, "k44", CompleteCommit, 5)
	x.epoch--
	equal(t, "repeat by version 4", r.end(4, x, true).ErrorCode, producerFenced)

	r = newRig(t, 1, "k44")
	x = r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "one"))
	equal(t, "version 4 after Produce 12", r.end(4, x, true).ErrorCode, ok)
	r.settle()
	code, base := r.produce(12, x, 0, batchOf(x, 0, true, "two"))
	equal(t, "acknowledged", code, ok)
	equal(t, "with the old offset", base, 0)
	equal(t, "and dropped", r.c.Bounds("out", 0).High, 2)
}

// The new protocol on a cluster whose feature was not raised wedges the id until its coordinator is loaded again.
func TestWedgedAtVersionZero(t *testing.T) {
	r, x := inState(t, "k44-tv0", Ongoing, 4)
	equal(t, "version 5", r.end(5, x, true).ErrorCode, unsupportedVersion)
	equal(t, "version 4", r.end(4, x, true).ErrorCode, concurrentTransactions)
	r.w.RunFor(5e9)
	equal(t, "still", r.end(4, x, true).ErrorCode, concurrentTransactions)
	r.c.MoveCoordinator("a", int(r.coord("a")+1)%3)
	r.w.RunFor(5e8)
	equal(t, "after a load", r.end(4, x, true).ErrorCode, ok)
}

// Lookup goes by id first: a wrong producer id must never decide another's transaction.
func TestEndTxnWrongKeys(t *testing.T) {
	r, x := inState(t, "k44", Ongoing, 5)
	other := r.init("b")
	for _, v := range []int16{4, 5} {
		equal(t, "unknown id", r.end(v, identity{"nobody", x.pid, x.epoch}, true).ErrorCode, invalidProducerID)
		equal(t, "another's producer id", r.end(v, identity{"a", other.pid, x.epoch}, true).ErrorCode, invalidProducerID)
		equal(t, "own producer id under another id", r.end(v, identity{"b", x.pid, x.epoch}, true).ErrorCode, invalidProducerID)
	}
	equal(t, "untouched", r.state("a"), Ongoing)
}
