package brokerfuzz

import (
	"fmt"
	"slices"
	"strings"
)

// Cluster runs sequences. Equal sequences have equal transcripts on equal clusters.
type Cluster interface {
	Run(s Sequence) (Transcript, error)
}

// Permission is a difference between the model and a real broker that is allowed, since the real one does either.
type Permission struct {
	Name, Reason string
	// covers tells whether it explains the lines of one operation.
	covers func(o *Op, model, real []string) bool
}

// Permitted are all of them. Anything else is a difference. There is none: what would need one (the order of markers of
// transactions that time out together, which client's version decides between 120 and 48) is settled, ordered or kept apart.
var Permitted []Permission

// Place is where two transcripts differ for the first time.
type Place struct {
	Operation   int // from 1; after the last one it is what readers see in the end
	Model, Real []string
}

func (p Place) String() string {
	return fmt.Sprintf("operation %d: the model says %q, the real broker %q", p.Operation, p.Model, p.Real)
}

// Kind is what kind of difference it is: the answers, where they differ, otherwise only that what follows does.
func (p Place) Kind() string {
	first := func(lines []string) string {
		if len(lines) == 0 {
			return ""
		}
		word, _, _ := strings.Cut(lines[0], " ")
		return word
	}
	return first(p.Model) + "/" + first(p.Real)
}

// Compare finds the first place where transcripts of one sequence differ, and the names of the permissions that were used
// up to there.
func Compare(model, real Transcript) (place *Place, permitted []string) {
	for i := range model.Sequence.Ops {
		m, r := model.answer(i), real.answer(i)
		if slices.Equal(m, r) {
			continue
		}
		name := permission(&model.Sequence.Ops[i], m, r)
		if name == "" {
			return &Place{i + 1, m, r}, permitted
		}
		permitted = append(permitted, name)
	}
	if !slices.Equal(model.Rest, real.Rest) {
		return &Place{len(model.Sequence.Ops) + 1, model.Rest, real.Rest}, permitted
	}
	return nil, permitted
}

// answer is the answer to an operation by its index; nil where the run had ended before.
func (t *Transcript) answer(i int) []string {
	if i < len(t.Answers) {
		return t.Answers[i]
	}
	return nil
}

func permission(o *Op, model, real []string) string {
	for _, p := range Permitted {
		if p.covers(o, model, real) {
			return p.Name
		}
	}
	return ""
}
