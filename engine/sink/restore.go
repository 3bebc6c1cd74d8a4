package sink

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// maxRounds bounds how often one restore starts again. Each round follows an event of the world (a timeout that struck
// between survey and commit, another restore that took the lock).
const maxRounds = 20

// RestoreOrder decides every token of the job before anybody writes again. A round takes the locks, surveys, decides the
// completed checkpoints oldest first, and fences. Where what was found has changed meanwhile, the next round starts at the
// locks; what is confirmed by then is in the log and is not asked for again.
func RestoreOrder(ask Ask, p *Plan, in operator.RestoreInput) operator.RestoreOutcome {
	r := &restore{ask: ask, p: p, state: in.State, accept: in.AcceptLoss}
	for round := 1; ; round++ {
		out, err := r.round()
		switch {
		case err == nil:
			return out
		case errors.Is(err, joblog.ErrSuperseded):
			return operator.RestoreOutcome{Stop: true, Err: err}
		case !errors.Is(err, errAgain) || round == maxRounds:
			return operator.RestoreOutcome{Stop: errors.Is(err, errLoud), Err: fmt.Errorf("restore: %w", err)}
		}
		ask(Sleep{pauseOf(round + 3), err.Error()})
	}
}

// errLoud marks what only an operator can change.
var errLoud = errors.New("the job must not start")

type restore struct {
	ask    Ask
	p      *Plan
	state  joblog.State
	accept bool

	locks []kafka.Identity // per sink; an empty id is used up
	lost  *joblog.Loss
}

func (r *restore) round() (operator.RestoreOutcome, error) {
	if err := r.ensureMarkers(); err != nil {
		return operator.RestoreOutcome{}, err
	}
	groups := Completions(r.state)
	r.p.Protected = nil
	var tokens []token.Token
	for _, g := range groups {
		for _, t := range g.Tokens {
			tokens = append(tokens, t)
			r.p.Protected = append(r.p.Protected, t.TransactionalID)
		}
	}
	locks, err := r.p.Rules.Lock(r.ask, r.p)
	if err != nil {
		return operator.RestoreOutcome{}, err
	}
	r.locks, r.lost = locks, nil
	r.p.Locks = slices.Clone(locks)
	if len(tokens) > 0 {
		if err := r.own(); err != nil {
			return operator.RestoreOutcome{}, err
		}
	}
	found, err := r.p.Rules.Survey(r.ask, r.p, tokens)
	if err != nil {
		return operator.RestoreOutcome{}, err
	}
	if err := r.decide(groups, found); err != nil {
		return operator.RestoreOutcome{}, err
	}
	if err := r.fence(); err != nil {
		return operator.RestoreOutcome{}, err
	}
	out := operator.RestoreOutcome{Lost: r.lost}
	if r.state.Completed != nil {
		out.From = r.state.Completed.Checkpoint
	}
	if r.lost != nil && !r.lost.Accepted {
		out.Stop, out.Err = true, fmt.Errorf("checkpoint %d: records of %d ranges are lost", r.lost.Checkpoint, len(r.lost.Items))
	}
	return out, nil
}

// own proves that the log still is this generation's, after the locks were taken. Without it, a restore that slept could
// salvage what was salvaged long ago:
//
//  1. Generation 4 claims and sleeps. Generation 5 claims, salvages the aborted token of checkpoint 7, confirms, and its
//     writers commit 8 on the same lane.
//  2. Generation 4 wakes up and initialises the salvage id. It fences nobody: generation 5 needs it no more.
//  3. It reads the evidence: the lane says 8, which is not 7, and the second witness says aborted. It salvages again.
//
// An append that succeeds says that every newer generation claims later, and so takes the locks later: from then on a
// newer restore fences this one's salvage, and reads what it has done.
func (r *restore) own() error {
	return r.append(joblog.Entry{Kind: joblog.Fenced, Fenced: r.state.Fenced})
}

func (r *restore) ensureMarkers() error {
	if len(r.p.Sinks) == 0 && len(r.state.Undecided) == 0 {
		return nil
	}
	parallelism := int32(1)
	for _, s := range r.p.Sinks {
		parallelism = max(parallelism, s.Parallelism)
	}
	for _, t := range r.state.Undecided {
		parallelism = max(parallelism, t.Lane.Partition/LanesPerSubtask+1)
	}
	return get[Done](r.ask, EnsureMarkers{MarkerTopic(r.p.Job), LanePartitions(parallelism)}).Err
}

// Completions are the completed, unconfirmed checkpoints of a log, oldest first, each with the tokens that it decides: a
// token belongs to the first completed checkpoint at or above its own. Tokens of confirmed checkpoints ask nobody.
func Completions(s joblog.State) []Completion {
	var list []Completion
	add := func(n id.Checkpoint) {
		if n > s.Confirmed && !slices.ContainsFunc(list, func(c Completion) bool { return c.Checkpoint == n }) {
			list = append(list, Completion{Checkpoint: n})
		}
	}
	for _, ref := range s.Retained {
		add(ref.Checkpoint)
	}
	if s.Completed != nil {
		add(s.Completed.Checkpoint)
	}
	slices.SortStableFunc(list, func(a, b Completion) int { return cmp.Compare(a.Checkpoint, b.Checkpoint) })
	for _, t := range s.Undecided {
		if t.Checkpoint <= s.Confirmed {
			continue
		}
		for i := range list {
			if t.Checkpoint <= list[i].Checkpoint {
				list[i].Tokens = append(list[i].Tokens, t)
				break
			}
		}
	}
	for i := range list {
		slices.SortStableFunc(list[i].Tokens, OldestFirst)
	}
	return list
}
