// Package scenarios puts the engine on a simulated world, strikes it by a plan, and has the outcome judged.
//
// A scenario is a situation: a job, the shape of the world, and where its faults come from. Run repeats one from a plan alone;
// PlanOf expands a seed into a plan. Package campaign runs thousands.
package scenarios

import (
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/faults"
)

// Scenario is one situation.
type Scenario struct {
	Name string
	Doc  string
	Job  string // of the catalogue of jobs
	// World are the settings that differ from the defaults, as in a plan.
	World []faults.Setting
	// Script is the plan of a scripted scenario; empty: a swarm.
	Script string
	// Golden is the scenario that stands for this one when no seed is given.
	Golden string
	// Guarantee of the job.
	Guarantee operator.Guarantee
	// LossAllowed: LOUD-LOSS is an expected outcome.
	LossAllowed bool
	// Expect are the verdicts of a scripted contrast; empty: CLEAN.
	Expect []checker.Verdict
	// Off are kinds of faults that the swarm must not draw.
	Off []faults.Kind
	// Rolling: the brokers are upgraded one by one while the job runs, and the level of transaction.version is raised.
	Rolling bool
	// Prepare changes a world before it starts.
	Prepare func(*World)
	// Stages are the deployments of the job, one after the other; empty: one, from begin to end.
	Stages []Stage
	// Repeats: its user goes back to an older checkpoint, which repeats visible output; Tell judges how much.
	Repeats bool
	// Strict: judged as exactly-once whatever the guarantee is, so that a contrast shows its damage.
	Strict bool
	// Tell writes the story of a run that was judged, and may add findings of its own.
	Tell func(*Result) string
	// Campaign: part of a campaign that names no scenario.
	Campaign bool
}

// Shape is the settings of a world.
type Shape struct {
	TaskManagers, JobManagers, Brokers int
	Replication, MinISR                int  // copies of a partition, and how many must be in sync for a write
	Unclean                            bool // replicas that are not in sync may lead when no other can
	Slots                              int
	Partitions, Records, Accounts      int
	Parallelism                        int
	Profile                            string
	Burn                               time.Duration // how long records come and faults begin
	Interval, CheckpointTimeout        time.Duration
	TransactionTimeout, Scan           time.Duration
	Budget                             int           // records per poll and batch at most
	Retention                          time.Duration // of the output topics; 0: for ever
	LogKeep                            int           // entries of the job log that are kept; 0: all
	Cost                               time.Duration // handling time of a record
	MaxEpoch                           int           // of a producer id, so that ids rotate
	IDExpiration                       time.Duration // of unused transactional ids; 0: never

	// Offsets are the first offsets of an input's partitions, as if older records had been deleted.
	Offsets []int64
	// Rates are records per second of an input's partitions, written once a second; empty: a varied stream over the burn.
	Rates []int64
	// Meddle is what somebody outside the job does to the cluster, as ACTION/HOOK/CHECKPOINT; empty: nothing.
	Meddle string
	// Compact: the output topics are compacted, and a marker is kept no longer than its records.
	Compact int
	// AppendTime: the brokers replace the timestamps of the output topics by their own.
	AppendTime int
	// NoRights: the engine may not write markers by hand.
	NoRights int
	// Preloaded is the newest checkpoint of a job that has run before this world begins; 0: the job is new.
	Preloaded int
}

// Defaults of a world: the payments world of the benchmarks. The transaction timeout is below the budget that an audit would
// ask for, on purpose: transactions of completed checkpoints do time out here, and must be salvaged.
func defaultShape() Shape {
	return Shape{
		TaskManagers: 3, JobManagers: 2, Brokers: 3, Replication: 1, MinISR: 1, Slots: 2, Partitions: 4, Records: 6000, Accounts: 200, Parallelism: 3,
		Profile: "k44", Burn: 60 * time.Second, Interval: 2 * time.Second, CheckpointTimeout: 4 * time.Second,
		TransactionTimeout: 20 * time.Second, Scan: time.Second, LogKeep: 48, Budget: 8, Cost: 20 * time.Microsecond,
		MaxEpoch: 32767,
	}
}

// Catalogue lists all scenarios, the swarms of the campaign first.
func Catalogue() []Scenario {
	return append([]Scenario{
		{Name: "payments", Doc: "running totals by account: 3 TaskManagers, a standby JobManager, 3 brokers", Job: "payments", Campaign: true},
		{
			Name: "fraud", Doc: "two keyed stages in a row, windows by event time", Job: "fraud", Campaign: true, Golden: "fraud-golden",
			World: []faults.Setting{{Key: "partitions", Value: "2"}, {Key: "parallelism", Value: "2"}, {Key: "taskmanagers", Value: "2"}, {Key: "records", Value: "3000"}},
		},
		{
			Name: "ledger", Doc: "two sources into one operator, two sinks, three exchanges", Job: "ledger", Campaign: true,
			World: []faults.Setting{{Key: "records", Value: "3000"}, {Key: "partitions", Value: "2"}, {Key: "parallelism", Value: "2"}, {Key: "taskmanagers", Value: "2"}},
		},
		{
			Name: "copy", Doc: "the smallest line: source to sink, no state, no exchange", Job: "copy", Campaign: false,
			World: []faults.Setting{{Key: "records", Value: "2000"}, {Key: "partitions", Value: "2"}, {Key: "parallelism", Value: "1"}, {Key: "taskmanagers", Value: "1"}, {Key: "jobmanagers", Value: "1"}},
		},
		{Name: "rolling-upgrade", Doc: "payments while the brokers are upgraded one by one and transaction.version is raised", Job: "payments", Rolling: true},
		{Name: "at-least-once", Doc: "payments without transactions: replay repeats, nothing is lost", Job: "payments", Guarantee: operator.AtLeastOnce},
		{Name: "at-most-once", Doc: "payments with positions recorded before processing: replay skips, nothing repeats", Job: "payments", Guarantee: operator.AtMostOnce},
	}, append(golden(), staged()...)...)
}

// Find is the scenario of that name.
func Find(name string) (Scenario, bool) {
	for _, s := range Catalogue() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}
