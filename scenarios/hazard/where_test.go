package hazard

import (
	"strings"
	"testing"
)

// A release is called in the table what its brokers are called. If this fails, a reader looks for a hazard in another release than
// the one that has it.
func TestNamesOfReleases(t *testing.T) {
	for _, v := range versions {
		whole := v.name
		if strings.Count(whole, ".") == 1 {
			whole += ".0"
		}
		if got := profileOf(t, whole); got != v.profile {
			t.Errorf("%s is printed as %s, and brokers of %s are compared with %s", v.profile, v.name, whole, got)
		}
	}
	for profile, want := range map[string]string{"k400": "4.0.0", "k401": "4.0.2", "k401-tv1": "4.0.2 TV1", "k44": "4.4"} {
		if got := VersionOf(profile); got != want {
			t.Errorf("%s is printed as %s, want %s", profile, got, want)
		}
	}
}
