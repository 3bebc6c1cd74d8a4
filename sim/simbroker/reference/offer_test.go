package reference

import (
	"strings"
	"testing"

	"github.com/onefold/onefold/sim/simbroker"
)

// If this failed, a comparison with the wrong release would report the differences between two releases, one after the other,
// as faults of the model; or one with the right release would be refused.
func TestExpect(t *testing.T) {
	offers := func(profile string, change ...simbroker.VersionRange) Offer {
		p, ok := simbroker.ProfileOf(profile)
		if !ok {
			t.Fatal(profile)
		}
		for _, r := range change {
			p = p.With(r)
		}
		return Offer{Node: 1, versions: p.Versions, TransactionVersion: p.TransactionVersion}
	}
	patch := simbroker.VersionRange{Key: 66, Min: 0, Max: 7} // of a release that has no profile
	for _, c := range []struct {
		profile string
		brokers []Offer
		want    string // "": accepted
	}{
		{"k44", []Offer{offers("k44")}, ""},
		{"k44", []Offer{offers("k44", patch)}, ""},
		{"k42", []Offer{offers("k42")}, ""},
		{"k35", []Offer{offers("k35")}, ""},
		{"k44-tv1", []Offer{offers("k44-tv1")}, ""},
		{"k39", []Offer{offers("k44")}, "the cluster looks like k44, not like --profile k39: broker 1 offers other versions of"},
		{"k39", []Offer{offers("k44")}, "compare with --profile k44"},
		{"k44", []Offer{offers("k44-tv1")}, "looks like k44-tv1, not like --profile k44: broker 1 has transaction.version 1"},
		{"k44-tv0", []Offer{offers("k44")}, "compare with --profile k44"},
		{"k44", []Offer{offers("k44"), offers("k43")}, "looks like k43"},
		{"k401", []Offer{offers("k400")}, "looks like k400"},
	} {
		model, err := New(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		err = model.Expect(c.brokers)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.profile, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.profile, err, c.want)
		}
	}
}
