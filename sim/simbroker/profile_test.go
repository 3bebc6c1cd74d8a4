package simbroker

import (
	"fmt"
	"strings"
	"testing"
)

// The releases differ in what kafka-transactions says they differ in: a field that moves to another release without its
// line here fails.
func TestProfilesByRelease(t *testing.T) {
	flags := []struct {
		name string
		of   func(*Profile) bool
		has  string // the releases that have it
	}{
		{"Verify", func(p *Profile) bool { return p.Verify }, "k37 k39 k400 k401 k41 k42 k43 k44"},
		{"VerifyOffsets", func(p *Profile) bool { return p.VerifyOffsets }, "k37 k39 k400 k401 k41 k42 k43 k44"},
		{"AbortableErr", func(p *Profile) bool { return p.AbortableErr }, "k39 k400 k401 k41 k42 k43 k44"},
		{"HasTransactionVersion", func(p *Profile) bool { return p.HasTransactionVersion }, "k400 k401 k41 k42 k43 k44"},
		{"TransactionVersion 2", func(p *Profile) bool { return p.TransactionVersion == 2 }, "k400 k401 k41 k42 k43 k44"},
		{"HasELR", func(p *Profile) bool { return p.HasELR }, "k400 k401 k41 k42 k43 k44"},
		{"ELR", func(p *Profile) bool { return p.ELR }, "k41 k42 k43 k44"},
		{"FenceTwice", func(p *Profile) bool { return p.FenceTwice }, "k400"},
		{"EpochBefore48", func(p *Profile) bool { return p.EpochBefore48 }, "k39 k401 k41 k42 k43 k44"},
		{"EpochNoGuard", func(p *Profile) bool { return p.EpochNoGuard }, "k41 k42 k43 k44"},
		{"SeqZeroTV2", func(p *Profile) bool { return p.SeqZeroTV2 }, "k41 k42 k43 k44"},
		{"MarkerStrict", func(p *Profile) bool { return p.MarkerStrict }, "k42 k43 k44"},
		{"NegotiateMarkers", func(p *Profile) bool { return p.NegotiateMarkers }, "k42 k43 k44"},
		{"PersistPrev", func(p *Profile) bool { return p.PersistPrev }, "k43 k44"},
		{"RotateOnFence", func(p *Profile) bool { return p.RotateOnFence }, "k43 k44"},
		{"DropMarkerNoLeader", func(p *Profile) bool { return p.DropMarkerNoLeader }, "k43 k44"},
		{"AddPendFirst", func(p *Profile) bool { return p.AddPendFirst }, "k400 k401 k41 k42 k43 k44"},
		{"ForgetsPending", func(p *Profile) bool { return p.ForgetsPending }, "k35 k37 k39"},
		{"DropsPendingGroup", func(p *Profile) bool { return p.DropsPendingGroup }, "k400"},
		{"ServerRetry", func(p *Profile) bool { return p.ServerRetry > 0 }, "k400 k401 k41 k42 k43 k44"},
		{"MaxEpoch", func(p *Profile) bool { return p.MaxEpoch == 32767 }, "k35 k37 k39 k400 k401 k41 k42 k43 k44"},
	}
	for _, f := range flags {
		var has []string
		for _, r := range releases {
			p, known := ProfileOf(r.name)
			if !known {
				t.Fatalf("no profile %s", r.name)
			}
			if f.of(&p) {
				has = append(has, r.name)
			}
		}
		equal(t, f.name, strings.Join(has, " "), f.has)
	}
}

func TestProfileNames(t *testing.T) {
	for _, n := range ProfileVariants() {
		p, known := ProfileOf(n)
		if !known || p.Name != n {
			t.Errorf("%s: known %v, named %s", n, known, p.Name)
		}
	}
	equal(t, "variants", len(ProfileVariants()), len(ProfileNames())+2*6)
	for _, n := range []string{"", "k36", "k39-tv0", "k44-tv3", "k44-tv", "-tv0", "k44-tv-"} {
		if _, known := ProfileOf(n); known {
			t.Errorf("%q is a profile", n)
		}
	}
	for level, n := range []string{"k44-tv0", "k44-tv1", "k44-tv2"} {
		p, _ := ProfileOf(n)
		equal(t, n, fmt.Sprint(p.TransactionVersion), fmt.Sprint(level))
	}
}
