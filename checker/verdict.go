package checker

import (
	"fmt"
	"strings"
)

// Verdict is what a run is found to be. Later ones are not worse: Severity has the order.
type Verdict uint8

// The verdicts.
const (
	Clean            Verdict = iota
	Dup                      // an input is visible more often than the input topic holds it
	Gap                      // an input that must be visible is not
	AbortedRead              // a reader saw, or an output was made from, what the broker has as aborted, open or not at all
	Torn                     // a part of one transaction, or of one job's sinks, is visible for ever without the rest
	Reorder                  // outputs of one key are out of order
	State                    // a number differs from the reference fold
	LateDrop                 // an input is missing, and the job says that it was late
	Stall                    // no progress within the bound
	CrashLoop                // the same failure again and again from the same checkpoint
	EffectDup                // an effect outside of Kafka happened more than once
	LoudLoss                 // data cannot be saved, and the engine said exactly which, and stopped
	Invariant                // a check of the engine failed, or what must only rise fell
	Nondeterministic         // the same seed gave two different runs
	Refused                  // the configuration was not accepted
	Vacuous                  // the run proves nothing
	verdictCount
)

var verdictNames = [verdictCount]string{
	"CLEAN", "DUP", "GAP", "ABORTED-READ", "TORN", "REORDER", "STATE", "LATE-DROP", "STALL",
	"CRASHLOOP", "EFFECT-DUP", "LOUD-LOSS", "INVARIANT", "NONDETERMINISTIC", "REFUSED", "VACUOUS",
}

// severity orders verdicts, the most severe first: silent damage, then damage in view, then runs that ended badly, then
// runs that prove nothing.
var severity = [verdictCount]Verdict{
	Gap, Dup, AbortedRead, Torn, State, Reorder, EffectDup, Invariant, LateDrop, LoudLoss,
	CrashLoop, Stall, Nondeterministic, Refused, Vacuous, Clean,
}

func (v Verdict) String() string {
	if v < verdictCount {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// ParseVerdict is the inverse of String.
func ParseVerdict(s string) (Verdict, bool) {
	for i, n := range verdictNames {
		if n == s {
			return Verdict(i), true
		}
	}
	return 0, false
}

// Severity is the verdict's rank: 0 is the most severe.
func (v Verdict) Severity() int {
	for i, s := range severity {
		if s == v {
			return i
		}
	}
	return len(severity)
}

// MarshalText makes JSON carry the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (v *Verdict) UnmarshalText(b []byte) error {
	p, ok := ParseVerdict(string(b))
	if !ok {
		return fmt.Errorf("unknown verdict %q; known: %s", b, strings.Join(verdictNames[:], " "))
	}
	*v = p
	return nil
}
