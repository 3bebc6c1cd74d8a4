package sink

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// decide decides all checkpoints. A loss that is not accepted stops the confirming, not the deciding: everything that can
// be made visible is, so that exactly what is reported is missing.
func (r *restore) decide(groups []Completion, found []Finding) error {
	if gave, err := r.giveWay(found); err != nil || gave {
		return cmp.Or(err, errAgain)
	}
	groups = r.p.Rules.Decide(groups)
	findings := make([][]Finding, len(groups))
	for i, g := range groups {
		for _, f := range found {
			if slices.ContainsFunc(g.Tokens, func(t token.Token) bool { return Same(t, f.Token) }) {
				findings[i] = append(findings[i], f)
			}
		}
	}
	back := r.stepBackAt(groups, findings)
	for i, g := range groups {
		if i == back {
			return r.stepBack(groups[i:], slices.Concat(findings[i:]...))
		}
		lost, err := r.decideOne(g, findings[i])
		if err != nil {
			return err
		}
		if err := r.confirm(g, lost); err != nil {
			return err
		}
	}
	return nil
}

// stepBackAt is the first checkpoint with a token that can neither be committed nor salvaged while nothing of it and of
// later ones is visible, if the job can go back to the checkpoint before; -1: none.
func (r *restore) stepBackAt(groups []Completion, findings [][]Finding) int {
	for i, g := range groups {
		if !slices.ContainsFunc(findings[i], func(f Finding) bool { return len(f.Unsalvageable) > 0 }) {
			continue
		}
		seen := slices.ContainsFunc(slices.Concat(findings[i:]...), Finding.visible)
		if !seen && r.hasBefore(g.Checkpoint) {
			return i
		}
		return -1
	}
	return -1
}

// hasBefore reports whether there is something to step back to: an older checkpoint, or the empty job.
func (r *restore) hasBefore(n id.Checkpoint) bool {
	for _, ref := range r.state.Retained {
		if ref.Checkpoint < n {
			return true
		}
	}
	return r.state.Confirmed == 0
}

// stepBack aborts what is left of checkpoints of which nothing is visible, and abandons them, newest first.
func (r *restore) stepBack(groups []Completion, found []Finding) error {
	var items []Item
	for _, f := range found {
		if f.Verdict == Pending {
			ended := get[Ended](r.ask, EndTxn{Who: Identity(f.Token)})
			if err := endError(ended, f.Token); err != nil {
				return err
			}
		}
		r.ask(Pass{hook.R3TokenDecided, f.Token.Checkpoint})
		items = append(items, Item{Token: f.Token})
	}
	settled, err := r.p.Rules.Settle(r.ask, r.p, items)
	if err != nil {
		return err
	}
	if len(settled.Contradicted) > 0 {
		return errAgain
	}
	r.ask(Reach{StepBackTaken})
	r.p.Protected = nil
	for i := len(groups) - 1; i >= 0; i-- {
		reason := "aborted, and its records cannot all be read back; nothing of it was visible"
		if err := r.append(joblog.Entry{Kind: joblog.Abandoned, Checkpoint: groups[i].Checkpoint, Reason: reason}); err != nil {
			return err
		}
	}
	return nil
}

// decideOne commits and salvages the tokens of one checkpoint and waits until all of it has ended.
func (r *restore) decideOne(g Completion, found []Finding) ([]joblog.LostRange, error) {
	var items []Item
	var lost []joblog.LostRange
	for _, f := range found {
		item := Item{Token: f.Token, Commit: !f.Abort, NeedLane: !f.Abort && !f.ByWitness}
		if f.Verdict == Pending {
			ended := get[Ended](r.ask, EndTxn{Who: Identity(f.Token), Commit: true})
			if err := endError(ended, f.Token); err != nil {
				return nil, err
			}
		}
		r.ask(Pass{hook.R3TokenDecided, f.Token.Checkpoint})
		if f.Verdict != Unknown {
			items = append(items, item)
		}
		lost = append(lost, f.Unsalvageable...)
	}
	settled, err := r.p.Rules.Settle(r.ask, r.p, items)
	if err != nil {
		return nil, err
	}
	if len(settled.Contradicted) > 0 {
		r.ask(Say{fmt.Sprintf("%s is not what the survey found", items[settled.Contradicted[0]].Token)})
		return nil, errAgain
	}
	for _, i := range settled.Repaired {
		if known := slices.IndexFunc(found, func(f Finding) bool { return Same(f.Token, items[i].Token) }); items[i].Commit &&
			tornSince(r.ask, found[known]) {
			return nil, errAgain
		}
	}
	return deletedSince(lost, found, settled.Deleted), r.salvage(found)
}

// deletedSince adds what retention took between the survey and the end of transactions that were open until then. Records of
// one that had ended before the survey were visible first.
func deletedSince(lost []joblog.LostRange, found []Finding, deleted []joblog.LostRange) []joblog.LostRange {
	for _, d := range deleted {
		open := func(f Finding) bool { return f.Verdict == Pending && Same(f.Token, d.Token) }
		if !slices.ContainsFunc(found, open) {
			continue
		}
		lost = slices.DeleteFunc(lost, func(l joblog.LostRange) bool { // of the survey, which saw less of it gone
			return Same(l.Token, d.Token) && l.Range.Topic == d.Range.Topic && l.Range.Partition == d.Range.Partition
		})
		lost = append(lost, d)
	}
	return lost
}

// tornSince reports whether the second witness says aborted of a range that the survey did not find aborted.
func tornSince(ask Ask, f Finding) bool {
	known := f.Salvaged.Done.Union(Set{})
	for _, i := range f.Aborted {
		known.Add(i)
	}
	return aborted(ask, f.Token, known)
}

func (r *restore) salvage(found []Finding) error {
	for i, s := range r.p.Sinks {
		var mine []Finding
		for _, f := range found {
			if f.Token.Sink == s.Operator && len(f.salvageable()) > 0 {
				mine = append(mine, f)
			}
		}
		if len(mine) == 0 {
			continue
		}
		if r.locks[i].TransactionalID == "" {
			return errAgain // one transaction per lock: the next round takes it anew
		}
		lock := r.locks[i]
		r.locks[i] = kafka.Identity{}
		if err := r.p.Rules.Salvage(r.ask, r.p, lock, mine); err != nil {
			return err
		}
	}
	return nil
}

// confirm appends what was decided. After a loss that is not accepted nothing is confirmed any more.
func (r *restore) confirm(g Completion, lost []joblog.LostRange) error {
	lost = withStanding(lost, r.state.Losses, g.Checkpoint)
	if len(lost) > 0 {
		loss := joblog.Loss{Checkpoint: g.Checkpoint, Accepted: r.accept, Items: lost}
		if !reported(r.state.Losses, loss) { // by a JobManager that stopped over it
			if err := r.append(joblog.Entry{Kind: joblog.Lost, Checkpoint: g.Checkpoint, Loss: &loss}); err != nil {
				return err
			}
		}
		if r.lost == nil || r.accept {
			r.lost = &loss
		}
	}
	if r.lost != nil && !r.lost.Accepted {
		return nil
	}
	if err := r.append(joblog.Entry{Kind: joblog.Confirmed, Checkpoint: g.Checkpoint}); err != nil {
		return err
	}
	r.ask(Pass{hook.R5Confirmed, g.Checkpoint})
	r.p.Protected = slices.DeleteFunc(r.p.Protected, func(name string) bool {
		return slices.ContainsFunc(g.Tokens, func(t token.Token) bool { return t.TransactionalID == name })
	})
	return nil
}

// withStanding adds the losses of a checkpoint that were reported and not accepted. Whoever found them has stopped over them; by
// now the transaction may be committed at all its partitions, and nobody could find them again.
func withStanding(lost []joblog.LostRange, losses []joblog.Loss, n id.Checkpoint) []joblog.LostRange {
	for i := len(losses) - 1; i >= 0; i-- { // of a range that was reported again, the last report knows most
		l := losses[i]
		if l.Checkpoint != n || l.Accepted {
			continue
		}
		for _, item := range l.Items {
			same := func(o joblog.LostRange) bool {
				return Same(o.Token, item.Token) && o.Range.Topic == item.Range.Topic && o.Range.Partition == item.Range.Partition
			}
			accepted := func(o joblog.Loss) bool { return o.Checkpoint == n && o.Accepted && slices.ContainsFunc(o.Items, same) }
			if !slices.ContainsFunc(lost, same) && !slices.ContainsFunc(losses[i:], accepted) {
				lost = append(lost, item)
			}
		}
	}
	return lost
}

// reported tells whether the log holds a loss already: the same ranges of the same checkpoint, with the same policy.
func reported(losses []joblog.Loss, l joblog.Loss) bool {
	return slices.ContainsFunc(losses, func(o joblog.Loss) bool {
		return o.Checkpoint == l.Checkpoint && o.Accepted == l.Accepted && slices.EqualFunc(o.Items, l.Items, func(a, b joblog.LostRange) bool {
			return Same(a.Token, b.Token) && a.Range == b.Range
		})
	})
}

func (r *restore) fence() error {
	if err := r.p.Rules.Fence(r.ask, r.p, FenceInput{Fenced: r.state.Fenced, Check: true}); err != nil {
		return err
	}
	if len(r.p.Protected) == 0 {
		if err := r.append(joblog.Entry{Kind: joblog.Fenced, Fenced: r.p.Generation - 1}); err != nil {
			return err
		}
	}
	r.ask(Pass{hook.R6Fenced, 0})
	return nil
}

func (r *restore) append(e joblog.Entry) error {
	got := get[Appended](r.ask, AppendEntry{e})
	if got.Err != nil {
		return fmt.Errorf("append %s: %w", e.Kind, got.Err)
	}
	r.state = got.State
	return nil
}

// endError is what an answer to EndTxn means for a restore: refused is a token to be surveyed again.
func endError(e Ended, t token.Token) error {
	switch {
	case e.Err != nil:
		return fmt.Errorf("end %s: %w", t, e.Err)
	case e.Class == EndOK:
		return nil
	case e.Class == EndResolve:
		return fmt.Errorf("%s answered %w: %w", t, e.Code, errAgain)
	}
	return fmt.Errorf("%w: end %s: %w", errLoud, t, e.Code)
}
