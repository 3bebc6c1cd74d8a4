package sink

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// SurveyTokens judges tokens without acting: coordinator, lane, second witness, and for what is aborted a dry run of the
// salvage with count and checksum. What it finds decides between going on, stepping back and loud loss before anything is
// committed. It waits while nothing can be said of a token. The findings are in the order of the tokens.
func SurveyTokens(ask Ask, p *Plan, tokens []token.Token) ([]Finding, error) {
	found := make([]Finding, len(tokens))
	left := make([]int, len(tokens))
	items := make([]Item, len(tokens))
	for i, t := range tokens {
		left[i], items[i] = i, Item{Token: t, Commit: true}
	}
	var start, fenced env.Instant
	for try := 1; len(left) > 0; try++ {
		desc := get[Described](ask, Describe{idsOf(items, left)})
		seen := get[Seen](ask, Look{Partitions: partitionsOf(items, left), Lanes: lanesOf(items, left), LogStarts: true})
		if try == 1 {
			start, fenced = seen.Now, seen.Now
		}
		err := cmp.Or(desc.Err, seen.Err)
		if err == nil {
			places, at := placesOf(items, left)
			answers := witness(ask, places)
			var still []int
			for k, i := range left {
				if found[i], err = judgeToken(ask, p, items[i], find(desc, tokens[i].TransactionalID), seen, places[at[k]:at[k+1]], answers[at[k]:at[k+1]]); err != nil {
					return nil, err
				}
				if found[i].Verdict == Waiting {
					still = append(still, i)
				}
			}
			left = still
		}
		if len(left) == 0 {
			break
		}
		if err == nil {
			ask(Reach{UnstableWaited})
			err = fmt.Errorf("nothing can be said yet of %s", tokens[left[0]])
		}
		if seen.Now.Sub(start) > p.ConfirmLimit {
			return nil, err
		}
		if seen.Now.Sub(fenced) > p.RefenceAfter {
			fenced = seen.Now
			fenceAgain(ask, p)
		}
		ask(Sleep{pauseOf(try), err.Error()})
	}
	for i := range found {
		if err := dryRun(ask, &found[i]); err != nil {
			return nil, err
		}
		for _, l := range found[i].Unsalvageable {
			ask(Say{fmt.Sprintf("%s: %s/%d: %s", l.Token, l.Range.Topic, l.Range.Partition, l.Reason)})
		}
	}
	ask(Pass{hook.R2Surveyed, 0})
	return found, nil
}

// placesOf are the second witness's questions for items, and where those of each item begin.
func placesOf(items []Item, which []int) ([]Place, []int) {
	var places []Place
	at := []int{0}
	for _, i := range which {
		t := items[i].Token
		for _, r := range t.Ranges {
			places = append(places, Place{id.TopicPartition{Topic: r.Topic, Partition: r.Partition}, t.ProducerID, r.First, r.Last})
		}
		at = append(at, len(places))
	}
	return places, at
}

func witness(ask Ask, places []Place) []WitnessAnswer {
	if len(places) == 0 {
		return nil
	}
	return get[Witnessed](ask, AskWitness{places}).Answers
}

// judgeToken combines what was seen of one token.
func judgeToken(ask Ask, p *Plan, item Item, now kafka.Transaction, seen Seen, places []Place, answers []WitnessAnswer) (Finding, error) {
	t := item.Token
	lane, salvaged := ReadLane(t, laneOf(seen, item))
	says := make([]Witness, len(answers))
	for i, a := range answers {
		says[i] = ReadWitness(places[i].First, a)
		if says[i] == WitnessUndecided && !a.Unreachable && behindForeign(seen, places[i]) {
			// An older open transaction of somebody else holds the last stable offset below this range.
			says[i] = get[MarkerFound](ask, FindMarker{places[i]}).Witness
		}
	}
	f := Finding{Token: t, Judgement: Judge(lane, salvaged, ReadCoordinator(t, now, p.MaxEpoch), says), Salvaged: salvaged}
	if lane == LaneOther && f.Verdict == Aborted {
		reason, err := salvagedUnseen(ask, p, t, places)
		if err != nil {
			return f, err
		}
		if reason != "" {
			f.Verdict, f.Aborted, f.ByWitness, f.Abort = Unknown, nil, true, false
			ask(Say{fmt.Sprintf("%s: %s", t, reason)})
		}
	}
	if f.ByWitness || f.Verdict == Aborted || f.Verdict == Torn {
		ask(Reach{WitnessUsed})
	}
	switch f.Verdict {
	case Committed:
		ask(Reach{ResolveCommitted})
	case Aborted, Torn:
		ask(Reach{ResolveAborted})
	case Pending:
		f.Unsalvageable = deletedWhileOpen(ask, []Item{item}, seen)
	case Unknown:
		for _, r := range t.Ranges {
			f.Unsalvageable = append(f.Unsalvageable, joblog.LostRange{Token: t, Range: r, Reason: "the evidence is lost: committed or aborted, nobody knows"})
		}
	}
	return f, nil
}

// salvagedUnseen tells why an aborted token whose lane's evidence is lost must not be salvaged: a salvage may have saved it
// already. The second witness knows only of the first copies; the second ones, unlike a commit's records, are told of by
// the lane alone. A process that slept since it found a lane empty may have seeded it plainly in between. So a committed
// salvage behind the ranges makes it unknown, which is loud, rather than visible twice.
func salvagedUnseen(ask Ask, p *Plan, t token.Token, places []Place) (string, error) {
	i := slices.IndexFunc(p.Sinks, func(s Spec) bool { return s.Operator == t.Sink })
	if i < 0 || i >= len(p.Locks) || p.Locks[i].ProducerID <= 0 {
		return "", nil
	}
	for _, at := range places {
		at.ProducerID = p.Locks[i].ProducerID
		found := get[RecordsFound](ask, FindRecords{at})
		if found.Err != nil {
			return "", found.Err
		}
		var salvages []Place
		for _, first := range found.Firsts {
			salvages = append(salvages, Place{at.TopicPartition, at.ProducerID, first, first})
		}
		for k, a := range witness(ask, salvages) {
			w := ReadWitness(salvages[k].First, a)
			if w == WitnessUndecided {
				w = get[MarkerFound](ask, FindMarker{salvages[k]}).Witness
			}
			switch w {
			case WitnessAborted:
			case WitnessUndecided:
				return "", fmt.Errorf("a salvage at %v@%d is not decided", at.TopicPartition, salvages[k].First)
			default:
				return fmt.Sprintf("its lane tells nothing, and a salvage at %v@%d is %v", at.TopicPartition, salvages[k].First, w), nil
			}
		}
	}
	return "", nil
}

// behindForeign reports whether a range that reads as undecided is closed by its own producer.
func behindForeign(seen Seen, at Place) bool {
	p := producersOf(seen, at.TopicPartition)
	if p.Code != kafka.OK {
		return false
	}
	open, ok := openAt(p, at.ProducerID)
	return !ok || open.OpenFrom > at.Last
}

// dryRun reads back what would be salvaged. A range that is not there in full is not salvageable.
func dryRun(ask Ask, f *Finding) error {
	if f.Verdict != Aborted && f.Verdict != Torn {
		return nil
	}
	for _, i := range f.Aborted {
		r := f.Token.Ranges[i]
		got := get[RangeRead](ask, ReadRange{f.Token, i})
		switch {
		case got.Err != nil && !got.Gone:
			return got.Err // brokers that do not answer have lost nothing
		case got.Err != nil:
			f.Unsalvageable = append(f.Unsalvageable, joblog.LostRange{Token: f.Token, Range: r, Reason: got.Err.Error()})
		case !got.Matches(r):
			f.Unsalvageable = append(f.Unsalvageable, joblog.LostRange{
				Token: f.Token, Range: r,
				Reason: fmt.Sprintf("aborted, and only %d of %d records can be read back (crc %08x %08x, want %08x %08x)",
					got.Count, r.Count, got.Bodies, got.Times, r.Bodies, r.Times),
			})
		}
	}
	return nil
}

// salvageable are the aborted ranges that can be written again.
func (f Finding) salvageable() []int {
	var list []int
	for _, i := range f.Aborted {
		if !slices.ContainsFunc(f.Unsalvageable, func(l joblog.LostRange) bool {
			r := f.Token.Ranges[i]
			return l.Range.Topic == r.Topic && l.Range.Partition == r.Partition
		}) {
			list = append(list, i)
		}
	}
	return list
}

// visible reports whether readers may have seen something of the token.
func (f Finding) visible() bool {
	return f.Verdict == Committed || f.Verdict == Torn || f.Verdict == Unknown
}
