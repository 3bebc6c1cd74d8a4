package campaign

import "github.com/onefold/onefold/checker"

// Judged is from how many seeds on a campaign is judged for what it never reached.
const Judged = 2000

// Hollow lists why a campaign of any size proves nothing; empty when it proves something.
func (s *Summary) Hollow() []string {
	var why []string
	if s.Verdicts[checker.Refused] == s.Seeds && len(s.Failures) == 0 {
		return nil // as the plans expect
	}
	if s.Compared.Records == 0 {
		why = append(why, s.Scenario+": no record was compared")
	}
	if s.Compared.Epochs == 0 {
		why = append(why, s.Scenario+": no epoch was confirmed")
	}
	return why
}
