package hazard

import (
	"fmt"

	"github.com/onefold/onefold/engine/broker/stage"
)

// Sight is what a script found on one cluster.
type Sight struct {
	On      string // the cluster
	Form    string // of the hazard; "" is its own script
	Profile string // of a simulated cluster
	Seen    bool
	What    string
	Account []string // what happened, step by step
}

// Numbers of scripts, which tell the names that they make apart: a hazard's own has the number of the hazard.
const (
	cureNumbers = 100 // its cure
	formNumbers = 200 // its other forms
)

// ShowOn plays the script of a hazard on a cluster. The error is about the set-up, not about the hazard.
func ShowOn(b stage.Backend, h Hazard) (Sight, error) {
	s := Sight{On: b.Name(), Form: h.form}
	a := &account{}
	number := h.Number
	if h.form != "" {
		number += formNumbers
	}
	err := stage.Run(heard{b, a}, number, func(t *stage.T) {
		t.Backend = b
		s.Seen, s.What = h.Show(&Scene{T: t, account: a})
	})
	s.Account = a.lines
	if err != nil {
		return s, fmt.Errorf("hazard %s on %s: %w", h.Name(), b.Name(), err)
	}
	return s, nil
}

// CureOn plays the cure of a hazard on a cluster; What tells how it was seen to work.
func CureOn(b stage.Backend, h Hazard) (Sight, error) {
	s := Sight{On: b.Name()}
	a := &account{}
	err := stage.Run(heard{b, a}, cureNumbers+h.Number, func(t *stage.T) {
		t.Backend = b
		s.What = h.Cure(&Scene{T: t, account: a})
	})
	s.Account = a.lines
	if err != nil {
		return s, fmt.Errorf("cure of H%d on %s: %w", h.Number, b.Name(), err)
	}
	return s, nil
}

// Show plays the script on a simulated cluster of a profile.
func Show(h Hazard, profile string) (Sight, error) { return simulate(h, profile, ShowOn) }

// Cure plays the cure on a simulated cluster of a profile.
func Cure(h Hazard, profile string) (Sight, error) { return simulate(h, profile, CureOn) }

func simulate(h Hazard, profile string, play func(stage.Backend, Hazard) (Sight, error)) (Sight, error) {
	b, err := newSimulated(profile, h.Needs)
	if err != nil {
		return Sight{Profile: profile}, fmt.Errorf("hazard %s: %w", h.Name(), err)
	}
	defer b.Close()
	s, err := play(b, h)
	s.Profile = profile
	return s, err
}

// AsExpected reports whether a sight is what Where says.
func (h Hazard) AsExpected(s Sight) bool { return s.Seen == h.Where.Hold(s.Profile) }
