package brokerfuzz_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/broker/brokerfuzz"
	"github.com/onefold/onefold/sim/simbroker/reference"
)

// What a sequence says must be a function of the sequence, not of the moments that a world draws: otherwise nothing could be
// compared.
func TestTranscriptsDoNotDependOnTheWorld(t *testing.T) {
	for _, profile := range []string{"k44", "k39", "moving k44", "moving k39"} {
		profile, moving := strings.CutPrefix(profile, "moving ")
		c, err := reference.New(profile)
		if err != nil {
			t.Fatal(err)
		}
		if moving {
			c.Brokers = 3
		}
		for i := range uint64(100) {
			s := brokerfuzz.Draw(1, i, brokerfuzz.Shape{Moves: moving})
			var first string
			for seed := range uint64(2) {
				c.Seed = seed
				got, err := c.Run(s)
				if err != nil {
					t.Fatalf("%v\n%s%s", err, got, s)
				}
				if seed == 0 {
					first = fmt.Sprint(got)
				} else if first != fmt.Sprint(got) {
					t.Fatalf("%s: seed 0 says\n%sseed %d says\n%s", profile, first, seed, got)
				}
			}
		}
	}
}
