package main

import (
	"strings"
	"testing"
)

// One hazard named is told step by step, with the command that repeats each trial of the engine.
func TestHazardsTellsAStory(t *testing.T) {
	code, out, err := called(t, "hazards", "H13", "--profile", "k44")
	if code != exitClean || !strings.Contains(out, "SHOWN on 4.4") || !strings.Contains(out, "EndTxn v5") || !strings.Contains(out, "CURED on 4.4") ||
		!strings.Contains(out, "again: simrun ") {
		t.Errorf("exit %d\n%s%s", code, out, err)
	}
}

// What is not there is said, with what is.
func TestHazardsRefusesWhatIsNotThere(t *testing.T) {
	for _, args := range [][]string{{"hazards", "H99"}, {"hazards", "--profile", "k99"}} {
		if code, _, err := called(t, args...); code != exitUsage || !strings.Contains(err, "there ") {
			t.Errorf("%v: exit %d %s", args, code, err)
		}
	}
}
