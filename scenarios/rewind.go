package scenarios

import (
	"fmt"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/joblog"
)

// rewound is one return to an older checkpoint that a user asked for.
type rewound struct {
	to, from   checker.Claim // completed checkpoints, with their positions
	generation uint64
}

// rewinds reads the job log for them: what was confirmed when the user went back is what becomes visible again.
func (w *World) rewinds() []rewound {
	var out []rewound
	completed := map[uint64]checker.Claim{}
	for _, c := range w.History.Claims {
		if c.Kind == checker.CheckpointCompleted {
			completed[c.Checkpoint] = c
		}
	}
	confirmed := uint64(0)
	for _, e := range w.entries {
		switch e.Kind {
		case joblog.Confirmed:
			confirmed = uint64(e.Checkpoint)
		case joblog.Rewound:
			out = append(out, rewound{to: completed[uint64(e.Checkpoint)], from: completed[confirmed], generation: uint64(e.Generation)})
		}
	}
	return out
}

// between reports whether an input lies behind the checkpoint that was returned to and before the one that was left.
func (x rewound) between(topic int16, partition int32, offset int64) bool {
	return offset < position(x.from, topic, partition) && offset >= position(x.to, topic, partition)
}

func position(c checker.Claim, topic int16, partition int32) int64 {
	for _, p := range c.Positions {
		if p.Topic == topic && p.Partition == partition {
			return p.Offset
		}
	}
	return -1
}

// repeats holds a run that was rewound against its design: an input is visible once, and once more for each time that its
// user went back behind it. The checker knows of no excuse, so it judged the run as at-least-once; this is stricter.
func (w *World) repeats() (findings []checker.Finding, repeated int64) {
	h, rewinds := w.History, w.rewinds()
	seen := map[checker.Source]int64{}
	for i := range h.Reads {
		for _, src := range h.Sources(&h.Reads[i].Event) {
			seen[src]++
		}
	}
	for i := range h.Records {
		r := &h.Records[i]
		if h.Topics[r.Topic].Role != checker.Input || r.Outcome != checker.Plain && r.Outcome != checker.Committed {
			continue
		}
		want, got := int64(1), seen[checker.Source{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}]
		if r.Number >= 0 {
			got += seen[checker.Source{Topic: r.Topic, Partition: checker.Numbered, Offset: r.Number}]
		}
		for _, x := range rewinds {
			if x.between(r.Topic, r.Partition, r.Offset) {
				want++
			}
		}
		repeated += want - 1
		if got == want {
			continue
		}
		verdict := checker.Dup
		if got < want {
			verdict = checker.Gap
		}
		findings = append(findings, checker.Finding{
			Verdict: verdict, Property: "repeats-by-design", Place: h.Topics[r.Topic].Name, Count: 1,
			Detail: fmt.Sprintf("input %s/%d@%d is visible %d times, and by what its user asked for it must be %d times", h.Topics[r.Topic].Name,
				r.Partition, r.Offset, got, want),
		})
	}
	if len(findings) > 0 {
		findings[0].Count = len(findings)
		findings = findings[:1]
	}
	return findings, repeated
}

// tellRewind names what a user's return to a savepoint repeats, and convicts what it does not excuse.
func tellRewind(r *Result) string {
	w := r.World
	findings, repeated := w.repeats()
	for _, f := range findings {
		r.Report.Findings = append(r.Report.Findings, f)
		r.Report.Verdicts = append(r.Report.Verdicts, f.Verdict)
		if f.Verdict.Severity() < r.Report.Verdict.Severity() {
			r.Report.Verdict = f.Verdict
		}
	}
	story := ""
	for _, x := range w.rewinds() {
		story += fmt.Sprintf("  rewound   generation %d went back from checkpoint %d to savepoint %d, as asked for\n", x.generation, x.from.Checkpoint, x.to.Checkpoint)
	}
	return story + fmt.Sprintf("  repeated  %s records lie between them and are visible once more, by design; all others once\n", thousands(repeated))
}
