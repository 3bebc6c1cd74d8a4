package run

import (
	"net"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/jobmanager"
)

// quietAfter is how long after a checkpoint was due nothing may be heard of one before somebody is told.
const quietAfter = 10 * time.Second

// alive notes that the job goes forward.
func (r *Running) alive(e jobmanager.Event) {
	switch e.Kind {
	case jobmanager.Running, jobmanager.CheckpointCompleted, jobmanager.CheckpointConfirmed:
		r.mu.Lock()
		r.heard = time.Now()
		r.mu.Unlock()
	}
}

// watchQuiet warns while a running job gets no checkpoint done: without it a cluster that is gone looks like a job that is idle,
// since every request is tried again.
func (r *Running) watchQuiet() {
	k := r.cfg.Checkpoint.WithDefaults()
	patience := max(k.Interval, k.Pause) + quietAfter
	tick := time.NewTicker(quietAfter)
	defer tick.Stop()
	for {
		select {
		case <-r.over:
			return
		case <-tick.C:
		}
		r.mu.Lock()
		heard := r.heard
		r.mu.Unlock()
		if quiet := time.Since(heard); !heard.IsZero() && quiet > patience {
			r.log.Warn("no checkpoint gets done", "for", quiet.Round(time.Second), "kafka", reach(r.Brokers))
		}
	}
}

// reach tells whether anybody listens at the brokers' addresses.
func reach(brokers []string) string {
	var why []string
	for _, b := range brokers {
		c, err := net.DialTimeout("tcp", b, time.Second)
		if err == nil {
			c.Close()
			return "reachable at " + b
		}
		why = append(why, err.Error())
	}
	return strings.Join(why, "; ")
}
