package checker

import (
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// slot is the state of one position of the job log in its sequential model.
type slot struct {
	phase slotPhase
	nonce uint64
}

type slotPhase uint8

const (
	slotAbsent slotPhase = iota
	slotTaken
	slotDeleted // truncated: nobody appends here again
)

// jobLogModel is one position of a log that is appended to by creating absent entries. Calls whose outcome is unknown
// take effect when they can; one that never did takes its place after all others.
var jobLogModel = porcupine.Model{
	Partition: byPosition,
	Init:      func() any { return slot{} },
	Step: func(state, input, _ any) (bool, any) {
		s, op := state.(slot), input.(*LogOperation)
		return s.step(op)
	},
}

func (s slot) step(op *LogOperation) (bool, slot) {
	free, missing := s.phase == slotAbsent, s.phase != slotTaken
	switch {
	case op.Kind == LogCreate && op.Result == LogDone:
		return free, slot{slotTaken, op.Nonce}
	case op.Kind == LogCreate && op.Result == LogExists:
		return s.phase == slotTaken, s
	case op.Kind == LogCreate && op.Result == LogUnknown && free:
		return true, slot{slotTaken, op.Nonce}
	case op.Kind == LogRead && op.Result == LogDone:
		return s.phase == slotTaken && s.nonce == op.Nonce, s
	case op.Kind == LogRead && op.Result == LogMissing:
		return missing, s
	case op.Kind == LogDelete && op.Result == LogDone:
		return true, slot{phase: slotDeleted}
	case op.Kind == LogDelete && op.Result == LogUnknown && !free:
		return true, slot{phase: slotDeleted}
	}
	return true, s
}

func byPosition(history []porcupine.Operation) [][]porcupine.Operation {
	return partitionBy(history, func(a, b any) int {
		p, q := a.(*LogOperation).Position, b.(*LogOperation).Position
		switch {
		case p < q:
			return -1
		case p > q:
			return 1
		}
		return 0
	})
}

// partitionBy splits a history into runs of inputs that compare equal.
func partitionBy(history []porcupine.Operation, compare func(a, b any) int) (out [][]porcupine.Operation) {
	sorted := slices.Clone(history)
	slices.SortStableFunc(sorted, func(a, b porcupine.Operation) int { return compare(a.Input, b.Input) })
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && compare(sorted[from].Input, sorted[to].Input) == 0 {
			to++
		}
		out = append(out, sorted[from:to])
		from = to
	}
	return out
}

// jobLogLinearizable: the job log is a linearizable log, position by position, and without holes.
func (j *judge) jobLogLinearizable() {
	if len(j.h.JobLog) == 0 {
		return
	}
	j.compared.Operations += len(j.h.JobLog)
	ops := make([]porcupine.Operation, len(j.h.JobLog))
	for i := range j.h.JobLog {
		op := &j.h.JobLog[i]
		ops[i] = porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Call, Return: op.Return}
		if op.Result == LogUnknown {
			ops[i].Return = math.MaxInt64
		}
	}
	f := Finding{Place: "job log"}
	for _, part := range byPosition(ops) {
		if !porcupine.CheckOperations(jobLogModel, part) {
			f.evidence("position %d: %d calls have no order that a log allows", part[0].Input.(*LogOperation).Position, len(part))
		}
	}
	j.logHoles(&f)
	j.settle(&f, "places where the job log is no linearizable log")
}

// logHoles: an entry is created only after the one before it was.
func (j *judge) logHoles(f *Finding) {
	first := map[uint64]int64{} // position -> when an entry could be there first; looked up only
	for i := range j.h.JobLog {
		op := &j.h.JobLog[i]
		there := op.Kind == LogCreate && op.Result != LogExists || op.Kind == LogRead && op.Result == LogDone
		if at, ok := first[op.Position]; there && (!ok || op.Call < at) {
			first[op.Position] = op.Call
		}
	}
	for i := range j.h.JobLog {
		op := &j.h.JobLog[i]
		if op.Kind != LogCreate || op.Result != LogDone || op.Position == 0 {
			continue
		}
		if at, ok := first[op.Position-1]; !ok || at > op.Return {
			f.evidence("position %d was appended when there was nothing at %d", op.Position, op.Position-1)
		}
	}
}
