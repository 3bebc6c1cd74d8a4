package task

import "math"

// watermarks merges the watermarks of a task's inputs: the smallest of those that are not idle. It never goes back.
type watermarks struct {
	times   []int64
	idling  []bool
	current int64
	asleep  bool // all inputs are idle
}

// merged is what followers are told.
type merged struct {
	changed bool
	time    int64
	idle    bool
}

func newWatermarks(inputs int) *watermarks {
	w := &watermarks{times: make([]int64, inputs), idling: make([]bool, inputs), current: math.MinInt64}
	for i := range w.times {
		w.times[i] = math.MinInt64
	}
	return w
}

// advance takes the watermark of an input, which is not idle any more.
func (w *watermarks) advance(input int, time int64) merged {
	w.times[input] = max(w.times[input], time)
	w.idling[input] = false
	return w.merge()
}

// idle takes an input out of the merge.
func (w *watermarks) idle(input int) merged {
	w.idling[input] = true
	return w.merge()
}

func (w *watermarks) merge() merged {
	low, all := int64(math.MaxInt64), true
	for i, t := range w.times {
		if !w.idling[i] {
			low, all = min(low, t), false
		}
	}
	if all {
		out := merged{changed: !w.asleep, time: w.current, idle: true}
		w.asleep = true
		return out
	}
	out := merged{changed: low > w.current, time: max(low, w.current)}
	w.current, w.asleep = out.time, false
	return out
}
