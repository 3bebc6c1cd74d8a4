package checker

import (
	"cmp"
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
	slotAbsent slotPhase = iota // never written, or truncated
	slotTaken
)

// anyNonce is that of an entry written before the run: whatever a reader finds.
const anyNonce = 0

// jobLogModel is one position of a log that is appended to by creating absent entries. Calls whose outcome is unknown
// take effect when they can; one that never did takes its place after all others. A store creates at a truncated position,
// too: what is wrong is to go on afterwards, and logStrays says so.
func jobLogModel(first slot) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, _ any) (bool, any) {
			return state.(slot).step(input.(*LogOperation))
		},
	}
}

func (s slot) step(op *LogOperation) (bool, slot) {
	free := s.phase != slotTaken
	switch {
	case op.Kind == LogCreate && op.Result == LogDone:
		return free, slot{slotTaken, op.Nonce}
	case op.Kind == LogCreate && op.Result == LogExists:
		return !free, s
	case op.Kind == LogCreate && op.Result == LogUnknown && free:
		return true, slot{slotTaken, op.Nonce}
	case op.Kind == LogRead && op.Result == LogDone:
		return !free && (s.nonce == op.Nonce || s.nonce == anyNonce), s
	case op.Kind == LogRead && op.Result == LogMissing:
		return free, s
	case op.Kind == LogDelete && (op.Result == LogDone || op.Result == LogUnknown):
		return true, slot{phase: slotAbsent}
	}
	return true, s
}

func byPosition(history []porcupine.Operation) [][]porcupine.Operation {
	return partitionBy(history, func(a, b any) int { return cmp.Compare(a.(*LogOperation).Position, b.(*LogOperation).Position) })
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

// withoutEchoes leaves out tries of one position that cannot matter; thirty calls that nobody was answered would be tried
// out in every subset. A create has an effect once in the beginning and once for each delete, a delete once in the beginning
// and once for each create; of equal tries the earliest can stand for every later one.
func withoutEchoes(part []porcupine.Operation) []porcupine.Operation {
	count := func(part []porcupine.Operation, kind LogKind) (n int) {
		for i := range part {
			if op := part[i].Input.(*LogOperation); op.Kind == kind && (op.Result == LogDone || op.Result == LogUnknown) {
				n++
			}
		}
		return n
	}
	earliest := slices.Clone(part)
	slices.SortStableFunc(earliest, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, kinds := range [...][2]LogKind{{LogCreate, LogDelete}, {LogDelete, LogCreate}} {
		most, kept := 1+count(earliest, kinds[1]), map[uint64]int{} // by nonce; looked up only
		earliest = slices.DeleteFunc(earliest, func(o porcupine.Operation) bool {
			op := o.Input.(*LogOperation)
			if op.Kind != kinds[0] || op.Result != LogUnknown {
				return false
			}
			kept[op.Nonce]++
			return kept[op.Nonce] > most
		})
	}
	return earliest
}

// jobLogLinearizable: the job log is a linearizable log, position by position, without holes, and whoever finds itself
// below its floor stops.
func (j *judge) jobLogLinearizable() {
	if len(j.h.JobLog) == 0 {
		return
	}
	j.compared.Operations += len(j.h.JobLog)
	lowest := uint64(math.MaxUint64) // what lies below was there before the run
	ops := make([]porcupine.Operation, len(j.h.JobLog))
	for i := range j.h.JobLog {
		op := &j.h.JobLog[i]
		ops[i] = porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Call, Return: op.Return}
		if op.Result == LogUnknown {
			ops[i].Return = math.MaxInt64
		}
		if op.Kind == LogCreate && (op.Result == LogDone || op.Result == LogUnknown) {
			lowest = min(lowest, op.Position)
		}
	}
	f := Finding{Place: "job log"}
	for _, part := range byPosition(ops) {
		first := slot{}
		position := part[0].Input.(*LogOperation).Position
		if position < lowest {
			first = slot{slotTaken, anyNonce}
		}
		if !porcupine.CheckOperations(jobLogModel(first), withoutEchoes(part)) {
			f.evidence("position %d: %d calls have no order that a log allows", position, len(part))
		}
	}
	j.logHoles(&f, lowest)
	j.logStrays(&f)
	j.settle(&f, "places where the job log is no linearizable log")
}

// logHoles: an entry is created only after the one before it was.
func (j *judge) logHoles(f *Finding, lowest uint64) {
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
		if op.Kind != LogCreate || op.Result != LogDone || op.Position <= lowest {
			continue
		}
		if at, ok := first[op.Position-1]; !ok || at > op.Return {
			f.evidence("position %d was appended when there was nothing at %d", op.Position, op.Position-1)
		}
	}
}

// logStrays: a client that appended where the log had been truncated does not go on from there. It may append at the tail
// later, when it has read on and claimed again.
func (j *judge) logStrays(f *Finding) {
	deleted := map[uint64]int64{} // position -> when its deletion was done; looked up only
	for i := range j.h.JobLog {
		if op := &j.h.JobLog[i]; op.Kind == LogDelete && op.Result == LogDone {
			if at, ok := deleted[op.Position]; !ok || op.Return < at {
				deleted[op.Position] = op.Return
			}
		}
	}
	for i := range j.h.JobLog {
		op := &j.h.JobLog[i]
		if at, ok := deleted[op.Position]; !ok || op.Kind != LogCreate || op.Result != LogDone || op.Call <= at {
			continue
		}
		for k := range j.h.JobLog {
			if later := &j.h.JobLog[k]; later.Kind == LogCreate && later.Client == op.Client && later.Call > op.Return && later.Position == op.Position+1 {
				f.evidence("client %d appended at %d, which had been truncated, and went on at %d", op.Client, op.Position, later.Position)
				break
			}
		}
	}
}
