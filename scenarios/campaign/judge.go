package campaign

import (
	"fmt"
	"strconv"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/probe"
)

// Judged is from how many seeds on a campaign is judged for what it never reached.
const Judged = 2000

// Vacuous lists why a green campaign proves nothing; empty when it does prove something. The first two concern every
// campaign, the rest one that is large enough to be judged.
func (s *Summary) Vacuous(judged int) []string {
	var why []string
	if s.Compared.Records == 0 {
		why = append(why, "no record was compared")
	}
	if s.Compared.Epochs == 0 {
		why = append(why, "no epoch was confirmed")
	}
	if s.Seeds < judged || s.Engine != "" && s.Engine != "sound" {
		return why
	}
	for i, n := range s.Probes {
		if n == 0 {
			why = append(why, fmt.Sprintf("probe never reached: %s", probe.Name(i)))
		}
	}
	for _, k := range s.Coverage.Never() {
		why = append(why, fmt.Sprintf("fault drawn and never struck: %v", k))
	}
	for _, c := range s.Coverage.Empty() {
		why = append(why, fmt.Sprintf("fault %v never struck at hook %v", c.Kind, c.Hook))
	}
	return why
}

// Bound is what N clean seeds say: the rate of failures is below this, with 95 % confidence (the rule of three).
func (s *Summary) Bound() float64 {
	if s.Seeds == 0 {
		return 1
	}
	return 3 / float64(s.Seeds)
}

// Count is how many seeds had a verdict.
func (s *Summary) Count(v checker.Verdict) int { return s.Verdicts[v] }

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }
