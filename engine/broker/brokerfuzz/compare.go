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
	// covers tells whether it explains two lines of one operation, "" where there is none.
	covers func(o *Op, model, real string) bool
}

// Permitted are all of them. Anything else is a difference.
var Permitted []Permission

// Place is where two transcripts differ for the first time.
type Place struct {
	Operation   int // from 1; after the last one it is what readers see in the end
	Model, Real []string
}

func (p Place) String() string {
	return fmt.Sprintf("operation %d: the model says %q, the real broker %q", p.Operation, p.Model, p.Real)
}

// Compare finds the first place where transcripts of one sequence differ, and the names of permissions that were used. A
// permitted difference ends the comparison: what follows may follow from it.
func Compare(model, real Transcript) (place *Place, permitted string) {
	for i := range model.Sequence.Ops {
		var m, r []string
		if i < len(model.Answers) {
			m = model.Answers[i]
		}
		if i < len(real.Answers) {
			r = real.Answers[i]
		}
		if len(m) == len(r) && slices.Equal(m, r) {
			continue
		}
		if name := permission(&model.Sequence.Ops[i], m, r); name != "" {
			return nil, name
		}
		return &Place{i + 1, m, r}, ""
	}
	if !slices.Equal(model.Rest, real.Rest) {
		return &Place{len(model.Sequence.Ops) + 1, model.Rest, real.Rest}, ""
	}
	return nil, ""
}

func permission(o *Op, model, real []string) string {
	m, r := strings.Join(model, "\n"), strings.Join(real, "\n")
	for _, p := range Permitted {
		if p.covers(o, m, r) {
			return p.Name
		}
	}
	return ""
}
