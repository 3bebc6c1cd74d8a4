package scenarios

import (
	"time"

	"github.com/onefold/onefold/faults"
)

// staged are the scenarios in which a user changes a running job. Their faults are drawn like those of any other.
func staged() []Scenario {
	world := []faults.Setting{{Key: "taskmanagers", Value: "4"}, {Key: "records", Value: "3000"}}
	return []Scenario{
		{
			Name: "rescale", Doc: "parallelism 3, then 1, then 4: stopped with a savepoint and started again", Job: "payments", World: world,
			Stages: []Stage{
				{Parallelism: 3, Until: 20 * time.Second, Stop: true},
				{Parallelism: 1, Until: 40 * time.Second, Stop: true},
				{Parallelism: 4},
			},
		},
		{
			Name: "savepoint", Doc: "a restore from a savepoint: refused below what is confirmed, then repeated by design with --rewind", Job: "payments", World: world,
			Repeats: true, Tell: tellRewind,
			Stages: []Stage{
				{Savepoint: 15 * time.Second, Until: 27 * time.Second},
				{Restore: true, Refused: "--rewind"},
				{Restore: true, Rewind: true},
			},
		},
		{
			Name: "savepoint-stop", Doc: "stopped with a savepoint and restored from it with another parallelism: nothing repeats, no --rewind", Job: "payments", World: world,
			Stages: []Stage{
				{Parallelism: 2, Until: 25 * time.Second, Stop: true},
				{Parallelism: 3, Restore: true},
			},
		},
	}
}
