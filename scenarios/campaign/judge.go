package campaign

import (
	"strconv"

	"github.com/onefold/onefold/checker"
)

// Judged is from how many seeds on a campaign is judged for what it never reached.
const Judged = 2000

// Hollow lists why a campaign of any size proves nothing; empty when it proves something.
func (s *Summary) Hollow() []string {
	var why []string
	if s.Compared.Records == 0 {
		why = append(why, s.Scenario+": no record was compared")
	}
	if s.Compared.Epochs == 0 {
		why = append(why, s.Scenario+": no epoch was confirmed")
	}
	return why
}

// Count is how many seeds had a verdict.
func (s *Summary) Count(v checker.Verdict) int { return s.Verdicts[v] }

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }
