package hazard

import (
	"slices"
	"strings"

	"github.com/onefold/onefold/sim/simbroker"
)

// Place is a range of releases and transaction versions. The zero value is everywhere.
type Place struct {
	// From and To are releases as profiles name them, both included; empty: the first, the last that there is.
	From, To string
	// TV are transaction versions; empty: any. Releases below 4.0 have 0.
	TV []int16
}

// Places are several. None is nowhere.
type Places []Place

var (
	everywhere = Places{{}}
	belowTV2   = Places{{TV: []int16{0, 1}}}
	onlyTV2    = Places{{TV: []int16{2}}}
)

// versions are the releases, oldest first, as people name them. k401 is 4.0 as it was corrected: it does what 4.0.2 does, the
// last of its line, and bears the name of that.
var versions = []struct{ profile, name string }{
	{"k35", "3.5"},
	{"k37", "3.7"},
	{"k39", "3.9"},
	{"k400", "4.0.0"},
	{"k401", "4.0.2"},
	{"k41", "4.1"},
	{"k42", "4.2"},
	{"k43", "4.3"},
	{"k44", "4.4"},
}

func releaseIndex(profile string) int {
	for i, v := range versions {
		if v.profile == profile {
			return i
		}
	}
	return -1
}

// VersionOf names a profile's release as people do, with its transaction version where it is not the highest: "4.4 TV1".
func VersionOf(profile string) string {
	release, tv, _ := strings.Cut(profile, "-")
	i := releaseIndex(release)
	if i < 0 {
		return profile
	}
	if tv != "" {
		return versions[i].name + " " + strings.ToUpper(tv)
	}
	return versions[i].name
}

// Profiles are all profiles under which hazards are shown: every release, oldest first, from 4.0 on with each transaction
// version.
func Profiles() []string {
	var all []string
	for _, v := range versions {
		for _, end := range []string{"-tv0", "-tv1", ""} {
			if _, known := simbroker.ProfileOf(v.profile + end); known {
				all = append(all, v.profile+end)
			}
		}
	}
	return all
}

// split takes a profile apart.
func split(profile string) (release string, tv int16) {
	release, _, _ = strings.Cut(profile, "-")
	p, _ := simbroker.ProfileOf(profile)
	return release, p.TransactionVersion
}

// Hold reports whether a profile is in one of the places.
func (w Places) Hold(profile string) bool {
	release, tv := split(profile)
	at := releaseIndex(release)
	return slices.ContainsFunc(w, func(p Place) bool {
		from, to := 0, len(versions)-1
		if p.From != "" {
			from = releaseIndex(p.From)
		}
		if p.To != "" {
			to = releaseIndex(p.To)
		}
		return at >= from && at <= to && (len(p.TV) == 0 || slices.Contains(p.TV, tv))
	})
}

// In lists the profiles that are in one of the places, and those that are not.
func (w Places) In() (in, out []string) {
	for _, p := range Profiles() {
		if w.Hold(p) {
			in = append(in, p)
		} else {
			out = append(out, p)
		}
	}
	return in, out
}

func (p Place) String() string {
	var parts []string
	switch {
	case p.From == "" && p.To == "":
	case p.From == "":
		parts = append(parts, "up to "+VersionOf(p.To))
	case p.To == "":
		parts = append(parts, "from "+VersionOf(p.From))
	case p.From == p.To:
		parts = append(parts, VersionOf(p.From))
	default:
		parts = append(parts, VersionOf(p.From)+" to "+VersionOf(p.To))
	}
	switch {
	case slices.Equal(p.TV, []int16{0, 1}):
		parts = append(parts, "below TV2")
	case slices.Equal(p.TV, []int16{2}):
		parts = append(parts, "TV2")
	case slices.Equal(p.TV, []int16{0}):
		parts = append(parts, "TV0")
	case slices.Equal(p.TV, []int16{1, 2}):
		parts = append(parts, "TV1, TV2")
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, " ")
}

func (w Places) String() string {
	var all []string
	for _, p := range w {
		all = append(all, p.String())
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, "; ")
}
