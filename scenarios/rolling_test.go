package scenarios

import (
	"strings"
	"testing"

	"github.com/onefold/onefold/faults"
)

// A plan that upgrades to what is no release is refused before it runs, with what to write instead: it would seem to have
// struck.
func TestUpgradeToNoRelease(t *testing.T) {
	for profile, want := range map[string]string{
		"k99": "there is no release k99; there are k44", "k44-tv1": "then finalize transaction.version=N", "k42": "",
	} {
		f, err := faults.ParseFault("at 10s upgrade broker0 " + profile + " for 3s")
		if err != nil {
			t.Fatal(err)
		}
		err = checkReleases([]faults.Fault{f})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", profile, err)
		}
	}
}
