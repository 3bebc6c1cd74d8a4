package brokerfuzz_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/real/conform"
	"github.com/onefold/onefold/engine/real/kafkatest"
	"github.com/onefold/onefold/sim/simbroker/reference"
)

func setting(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// The Kafka that ONEFOLD_KAFKA names agrees with its profile (ONEFOLD_PROFILE, default k44) about ONEFOLD_OPERATIONS (1000)
// operations drawn from ONEFOLD_SEED (1). Without ONEFOLD_KAFKA there is nothing to compare with.
func TestFuzzKafka(t *testing.T) {
	if kafkatest.Which() == kafkatest.Kfake {
		return
	}
	profile := os.Getenv("ONEFOLD_PROFILE")
	if profile == "" {
		profile = "k44"
	}
	model, err := reference.New(profile)
	if err != nil {
		t.Fatal(err)
	}
	lanes := setting("ONEFOLD_LANES", 24)
	real, err := conform.New(kafkatest.Brokers(t), lanes)
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	began, told := time.Now(), time.Now()
	r, err := conform.Campaign{
		Real: real, Model: model, Seed: uint64(setting("ONEFOLD_SEED", 1)), Operations: setting("ONEFOLD_OPERATIONS", 1000),
		Shapes: model.Shapes(), Lanes: lanes,
		Most: setting("ONEFOLD_MOST", 10), Shrinking: 150,
		Progress: func(r *conform.Result) {
			if time.Since(told) > 5*time.Second {
				told = time.Now()
				t.Logf("%s: %s", time.Since(began).Truncate(time.Second), r)
			}
		},
	}.Run()
	for _, d := range r.Differences {
		t.Errorf("sequence %d: %s", d.Drawn, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s against %s: %s", profile, kafkatest.Which(), r)
}
