// Package oracle knows what the records of each job of the catalogue mean, for the checker. It shares no code with the jobs:
// decoders and reference folds are written a second time, from the description of the records alone.
package oracle

import (
	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios/oracle/copy"
	"github.com/onefold/onefold/scenarios/oracle/fraud"
	"github.com/onefold/onefold/scenarios/oracle/ledger"
	"github.com/onefold/onefold/scenarios/oracle/payments"
)

// Find is the oracle of a job.
func Find(job string) (checker.Oracle, bool) {
	switch job {
	case "payments":
		return payments.Oracle{}, true
	case "copy":
		return copy.Oracle{}, true
	case "fraud":
		return fraud.Oracle{}, true
	case "ledger":
		return ledger.Oracle{}, true
	}
	return nil, false
}
