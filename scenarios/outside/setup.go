package outside

import (
	"fmt"
	"strconv"
	"time"

	"github.com/onefold/onefold/faults"
)

// Setup is the world of a plan, as far as the processes of a real run get it.
type Setup struct {
	Job       string
	Guarantee string

	Processes, TaskManagers, Brokers int
	Partitions, Records, Accounts    int
	Parallelism                      int
	Burn                             time.Duration // how long records come and faults begin
	Interval, CheckpointTimeout      time.Duration
	TransactionTimeout               time.Duration
}

// What the simulated world has for all its engines; the real processes get the same by their flags.
const (
	HeartbeatTimeout  = 4 * time.Second
	ToleratedFailures = 2
)

// scenarios that are a job, a guarantee and nothing else.
var scenarios = map[string]Setup{
	"payments":      {Job: "payments", Guarantee: "exactly-once", Partitions: 4, Records: 6000, Parallelism: 3, TaskManagers: 3, Processes: 2},
	"fraud":         {Job: "fraud", Guarantee: "exactly-once", Partitions: 2, Records: 3000, Parallelism: 2, TaskManagers: 2, Processes: 2},
	"ledger":        {Job: "ledger", Guarantee: "exactly-once", Partitions: 2, Records: 3000, Parallelism: 2, TaskManagers: 2, Processes: 2},
	"copy":          {Job: "copy", Guarantee: "exactly-once", Partitions: 2, Records: 2000, Parallelism: 1, TaskManagers: 1, Processes: 1},
	"at-least-once": {Job: "payments", Guarantee: "at-least-once", Partitions: 4, Records: 6000, Parallelism: 3, TaskManagers: 3, Processes: 2},
	"at-most-once":  {Job: "payments", Guarantee: "at-most-once", Partitions: 4, Records: 6000, Parallelism: 3, TaskManagers: 3, Processes: 2},
}

// setup reads the world of a plan. What its settings may be is the simulator's to say: here they only must be numbers.
func setup(p *faults.Plan) (Setup, error) {
	s := scenarios[p.Scenario]
	s.Brokers, s.Accounts, s.Burn = 3, 200, time.Minute
	s.Interval, s.CheckpointTimeout, s.TransactionTimeout = 2*time.Second, 4*time.Second, 20*time.Second
	for _, w := range p.World {
		if err := s.set(w); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Setup) set(w faults.Setting) error {
	whole := map[string]*int{
		"taskmanagers": &s.TaskManagers, "jobmanagers": &s.Processes, "brokers": &s.Brokers, "partitions": &s.Partitions,
		"records": &s.Records, "accounts": &s.Accounts, "parallelism": &s.Parallelism,
	}
	times := map[string]*time.Duration{
		"burn": &s.Burn, "interval": &s.Interval, "checkpoint-timeout": &s.CheckpointTimeout, "transaction-timeout": &s.TransactionTimeout,
	}
	switch {
	case whole[w.Key] != nil:
		n, err := strconv.Atoi(w.Value)
		if err != nil || n < 1 {
			return fmt.Errorf("%s=%s: want a whole number from 1 on", w.Key, w.Value)
		}
		*whole[w.Key] = n
	case times[w.Key] != nil:
		d, err := time.ParseDuration(w.Value)
		if err != nil || d <= 0 {
			return fmt.Errorf("%s=%s: want a duration above zero, as 2s", w.Key, w.Value)
		}
		*times[w.Key] = d
	}
	return nil
}
