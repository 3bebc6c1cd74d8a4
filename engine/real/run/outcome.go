package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
)

// Ending is how a run came to its end.
type Ending string

// The endings.
const (
	Ended      Ending = "ended"      // bounded input is used up and confirmed
	Saved      Ending = "saved"      // stopped with a savepoint
	AtOnce     Ending = "at once"    // stopped without one
	Superseded Ending = "superseded" // a newer generation took over
	Loss       Ending = "loud loss"  // data cannot be saved
	Watchdog   Ending = "watchdog"   // a user function does not react
	Failed     Ending = "failed"     // anything else, see Err
)

// Outcome is the end of a run.
type Outcome struct {
	Ending     Ending
	Checkpoint id.Checkpoint // newest confirmed
	Generation id.Generation // own
	Savepoint  blob.Key      // Saved: to be named by --restore
	Operator   id.Operator   // Watchdog
	Loss       *joblog.Loss
	Err        error
}

// ExitCode is what a process ends with: 0, 1 for a loss, 2 for the rest.
func (o Outcome) ExitCode() int {
	switch o.Ending {
	case Ended, Saved:
		return 0
	case Loss:
		return 1
	}
	return 2
}

func (o Outcome) String() string {
	switch o.Ending {
	case Ended:
		if o.Generation == 0 {
			return fmt.Sprintf("ended before, at checkpoint %d: nothing was done; input that came later is for a job with a --state of its own", o.Checkpoint)
		}
		return fmt.Sprintf("ended at checkpoint %d", o.Checkpoint)
	case Saved:
		return fmt.Sprintf("stopped with savepoint %s at checkpoint %d; the same command goes on from there", o.Savepoint, o.Checkpoint)
	case AtOnce:
		return fmt.Sprintf("stopped at once; the newest confirmed checkpoint is %d, the same command goes on", o.Checkpoint)
	case Superseded:
		return fmt.Sprintf("another process took over the job on this state directory: %v", o.Err)
	case Loss:
		return lossText(o.Loss, o.Err)
	case Watchdog:
		return fmt.Sprintf("operator %s does not react: %v", o.Operator, o.Err)
	}
	return fmt.Sprintf("failed: %v", o.Err)
}

// lossText names what a reader will never see.
func lossText(l *joblog.Loss, err error) string {
	if l == nil {
		return fmt.Sprintf("loud loss: %v", err)
	}
	records := int64(0)
	s := ""
	for _, i := range l.Items {
		records += i.Range.Count
		s += fmt.Sprintf("\n  sink %s subtask %d: %d records of %s/%d, offsets %d to %d: %s", i.Token.Sink, i.Token.Subtask,
			i.Range.Count, i.Range.Topic, i.Range.Partition, i.Range.First, i.Range.Last, i.Reason)
	}
	return fmt.Sprintf("loud loss: %d records of checkpoint %d cannot be saved:%s\n--accept-loss goes on without them", records, l.Checkpoint, s)
}

// explain adds to why a job failed what its user can do about it.
func (r *Running) explain(err error) error {
	switch {
	case errors.Is(err, joblog.ErrCorrupt):
		return fmt.Errorf("%w\n  in %s: bring the file back from a copy; going on without it could lose or repeat output", err, JobDirectory(r.cfg.State))
	case r.cfg.Restore != "":
		return fmt.Errorf("%w\n  savepoints in %s: %s", err, r.cfg.State, savepoints(r.cfg.State))
	}
	return err
}

// savepoints are those that --restore may name.
func savepoints(state string) string {
	files, _ := os.ReadDir(filepath.Join(JobDirectory(state), "savepoints"))
	var names []string
	for _, f := range files {
		names = append(names, "savepoints/"+f.Name())
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
