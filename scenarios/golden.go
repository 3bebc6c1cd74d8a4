package scenarios

import (
	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/operator"
)

// The worked trace of the documentation: two partitions, checkpoints every 30 s, checkpoint 41 lies in the past, one
// TaskManager dies 47 s after it. First offsets and rates lead to the positions that the trace names; nothing else does.
const workedTrace = `# The worked trace: a TaskManager dies 17 s after checkpoint 42; its epoch is seen once, and so is the next.
onefold plan 1
scenario SCENARIO
seed 1
world taskmanagers=2 slots=1 jobmanagers=1 brokers=3 partitions=2 records=2900 parallelism=2 profile=k44 burn=1m40s interval=30s checkpoint-timeout=10s transaction-timeout=5m offsets=999497,997484 rates=17,12 preloaded=41SETTINGS
engine sound
at 47.4s crash tm2 for 3s
`

func golden() []Scenario {
	// What an at-most-once job sets aside at a barrier is lost where it is not processed yet when a crash comes: a record
	// takes long enough there that 17 s do not suffice for 30 s of input.
	return []Scenario{
		{
			Name: "fraud-golden", Doc: "the worked trace: checkpoint 42, a crash 17 s later, replay, epoch 43", Job: "fraud",
			Script: scripted(workedTrace, "fraud-golden", ""), Tell: tellCrash,
		},
		{
			Name: "fraud-at-least-once", Doc: "the worked trace without transactions: the replay doubles money", Job: "fraud",
			Script: scripted(workedTrace, "fraud-at-least-once", ""), Tell: tellCrash, Guarantee: operator.AtLeastOnce, Strict: true,
			Expect: []checker.Verdict{checker.Dup},
		},
		{
			Name: "fraud-at-most-once", Doc: "the worked trace with positions recorded before processing: money is dropped", Job: "fraud",
			Script: scripted(workedTrace, "fraud-at-most-once", " cost=50ms"), Tell: tellCrash, Guarantee: operator.AtMostOnce, Strict: true,
			Expect: []checker.Verdict{checker.Gap},
		},
	}
}
