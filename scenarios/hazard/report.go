package hazard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/checker"
)

// Report is what became of one hazard: on every simulated cluster asked for, and with the engine in its way.
type Report struct {
	Hazard   Hazard
	Sights   []Sight   // of its script, by profile
	Forms    []Sight   // of its other forms, one form after the other for each profile
	Cures    []Sight   // of its cure
	Outcomes []Outcome // of the engine
	Wrong    []string  // what is not as the catalogue says
}

// Run plays everything that belongs to a hazard under the profiles named; none are all. A trial of the engine is run under
// those of its own profiles that are among them.
func Run(h Hazard, profiles ...string) Report {
	r := Report{Hazard: h}
	all := len(profiles) == 0
	if all {
		profiles = Profiles()
	}
	for _, p := range profiles {
		r.show(p)
	}
	for _, t := range h.Engine {
		for _, p := range t.profiles() {
			if all || slices.Contains(profiles, p) {
				r.try(t, p)
			}
		}
	}
	return r
}

func (r *Report) show(profile string) {
	r.Sights = append(r.Sights, r.sight(r.Hazard, profile))
	for _, f := range r.Hazard.Forms {
		r.Forms = append(r.Forms, r.sight(r.Hazard.As(f), profile))
	}
	if r.Hazard.Cure == nil {
		return
	}
	s, err := Cure(r.Hazard, profile)
	r.Cures = append(r.Cures, s)
	if err != nil {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s: %v", VersionOf(profile), err))
	}
}

// sight plays the script of a hazard, or of one of its forms.
func (r *Report) sight(h Hazard, profile string) Sight {
	s, err := Show(h, profile)
	switch {
	case err != nil:
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s: %v", VersionOf(profile), err))
	case !h.AsExpected(s):
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s on %s: shown %v, the catalogue says %v: %s", h.Name(), VersionOf(profile), s.Seen, !s.Seen, s.What))
	}
	return s
}

func (r *Report) try(t Trial, profile string) {
	o, err := t.Try(profile)
	if err != nil {
		r.Wrong = append(r.Wrong, err.Error())
		return
	}
	r.Outcomes = append(r.Outcomes, o)
	if !o.Right() {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s\n  again: %s", o, o.Command))
	}
}

// Shown says where the script showed the hazard, and Gone where it did not.
func (r Report) Shown() string { return placesOf(r.profiles(true)) }

// Gone says where the script did not show the hazard.
func (r Report) Gone() string { return placesOf(r.profiles(false)) }

func (r Report) profiles(seen bool) (list []string) {
	for _, s := range r.Sights {
		if s.Seen == seen {
			list = append(list, s.Profile)
		}
	}
	return list
}

// Engine says what became of the engine: verdicts, each with the releases.
func (r Report) Engine() string {
	var verdicts []checker.Verdict
	where := map[checker.Verdict][]string{}
	lost := map[checker.Verdict]string{}
	for _, o := range r.Outcomes {
		if !slices.Contains(verdicts, o.Verdict) {
			verdicts = append(verdicts, o.Verdict)
		}
		if !slices.Contains(where[o.Verdict], o.Profile) {
			where[o.Verdict] = append(where[o.Verdict], o.Profile)
		}
		if l := cmp.Or(o.Lost(), o.Trial.Note); l != "" {
			lost[o.Verdict] = " (" + l + ")"
		}
	}
	var parts []string
	for _, v := range verdicts {
		var names []string
		for _, p := range where[v] {
			names = append(names, VersionOf(p))
		}
		parts = append(parts, v.String()+" "+strings.Join(names, ", ")+lost[v])
	}
	if len(parts) == 0 {
		return "not met"
	}
	return strings.Join(parts, "; ")
}

// placesOf says in which releases and transaction versions profiles are.
func placesOf(profiles []string) string {
	all := Profiles()
	switch {
	case len(profiles) == 0:
		return "none"
	case len(profiles) == 1:
		return VersionOf(profiles[0])
	case slices.Equal(profiles, all):
		return "all"
	}
	for _, w := range []Places{belowTV2, onlyTV2} {
		if in, _ := w.In(); slices.Equal(profiles, in) {
			return w.String()
		}
	}
	var parts []string
	from, to, kind := "", "", ""
	flush := func() {
		switch {
		case from == "":
		case from == to:
			parts = append(parts, strings.TrimSpace(from+" "+kind))
		case from == versions[0].name:
			parts = append(parts, strings.TrimSpace("up to "+to+" "+kind))
		case to == versions[len(versions)-1].name:
			parts = append(parts, strings.TrimSpace("from "+from+" "+kind))
		default:
			parts = append(parts, strings.TrimSpace(from+" to "+to+" "+kind))
		}
		from = ""
	}
	for _, v := range versions {
		own, have := tvsOf(all, v.profile), tvsOf(profiles, v.profile)
		if own == "" {
			continue
		}
		now := have
		if own == have {
			now = ""
		}
		switch {
		case have == "":
			flush()
		case from == "" || now != kind:
			flush()
			from, to, kind = v.name, v.name, now
		default:
			to = v.name
		}
	}
	flush()
	return strings.Join(parts, "; ")
}

// tvsOf are the transaction versions of a release among profiles, in words.
func tvsOf(profiles []string, release string) string {
	var tvs []string
	for _, p := range profiles {
		if r, tv := split(p); r == release {
			tvs = append(tvs, fmt.Sprint("TV", tv))
		}
	}
	if slices.Equal(tvs, []string{"TV0", "TV1"}) {
		return "below TV2"
	}
	return strings.Join(tvs, ", ")
}
