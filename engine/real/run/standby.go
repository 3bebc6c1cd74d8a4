package run

import (
	"context"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/real/fsblob"
	"github.com/onefold/onefold/engine/real/loop"
)

// patience is how long a job log may stand still before a standby takes over: an active process appends with every checkpoint.
func (c Config) patience() time.Duration {
	k := c.Checkpoint.WithDefaults()
	return 2*max(k.Interval, k.Pause) + k.Timeout + c.HeartbeatTimeout
}

// standBy waits until the log of the job stands still: nobody runs it any more, or nobody can. It watches the log, not the other
// process. A job that was ended or stopped on purpose is told by the fold; then there is nothing to take over.
func (c Config) standBy(ctx context.Context) (over *Outcome, err error) {
	store, err := fsblob.Open(JobDirectory(c.State))
	if err != nil {
		return nil, err
	}
	l := loop.New("standby", loop.NewClock())
	defer l.Close()
	w := watch{loop: l, store: store.Store(l)}
	c.Log.Info("standing by", "state", c.State, "patience", c.patience())
	newest, since := joblog.State{}, time.Now()
	var at blob.Key
	for {
		state, key, err := w.newest()
		switch {
		case err != nil:
			c.Log.Warn("the job log cannot be read", "error", err)
		case key != at:
			newest, at, since = state, key, time.Now()
		}
		switch {
		case newest.Ended:
			return &Outcome{Ending: Ended, Checkpoint: newest.Confirmed}, nil
		case newest.Stopped != "":
			return &Outcome{Ending: AtOnce, Checkpoint: newest.Confirmed}, nil
		case time.Since(since) > c.patience():
			c.Log.Info("the job log stands still: taking over", "for", time.Since(since).Round(time.Second), "newest", at)
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return &Outcome{Ending: AtOnce, Checkpoint: newest.Confirmed}, nil
		case <-time.After(min(time.Second, c.patience()/10)):
		}
	}
}

// watch reads the newest entry of a job log.
type watch struct {
	loop  *loop.Loop
	store blob.Store
}

func (w watch) newest() (joblog.State, blob.Key, error) {
	type listed struct {
		keys []blob.Key
		err  error
	}
	all := answer(w.loop, func(done func(listed)) {
		w.store.List(joblog.Prefix, func(keys []blob.Key, err error) { done(listed{keys, err}) })
	})
	if all.err != nil || len(all.keys) == 0 {
		return joblog.State{}, "", all.err
	}
	key := all.keys[len(all.keys)-1]
	type got struct {
		b   []byte
		err error
	}
	object := answer(w.loop, func(done func(got)) {
		w.store.Get(key, func(b []byte, err error) { done(got{b, err}) })
	})
	if object.err != nil {
		return joblog.State{}, "", object.err
	}
	p, _ := joblog.ParseKey(key)
	e, err := joblog.Decode(p, object.b)
	return e.State, key, err
}

// RunStandby is Run for a process that waits its turn: it takes over when nobody runs the job, and goes back to waiting when it is
// displaced.
func RunStandby(ctx context.Context, c Config, started func(*Running) Outcome) (Outcome, error) {
	c, err := c.withDefaults()
	if err != nil {
		return Outcome{Ending: Failed, Err: err}, err
	}
	for {
		over, err := c.standBy(ctx)
		switch {
		case err != nil:
			return Outcome{Ending: Failed, Err: err}, err
		case over != nil:
			return *over, nil
		}
		r, err := Start(c)
		if err != nil {
			return Outcome{Ending: Failed, Err: err}, err
		}
		if o := started(r); o.Ending != Superseded {
			return o, nil
		}
	}
}
