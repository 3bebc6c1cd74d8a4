package reference_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/broker/brokerfuzz"
	"github.com/onefold/onefold/sim/simbroker/reference"
)

// profiles are the releases whose brokers were recorded: make record KAFKA_VERSION=... KAFKA_TXN_VERSION=... renews a file.
var profiles = map[string]string{
	"3.5.2-tv0": "k35", "3.7.2-tv0": "k37", "3.9.2-tv0": "k39", "4.0.0-tv2": "k400", "4.0.2-tv2": "k401", "4.1.2-tv2": "k41",
	"4.2.1-tv2": "k42", "4.3.1-tv2": "k43", "4.4.0-tv2": "k44", "4.4.0-tv1": "k44-tv1", "4.4.0-tv0": "k44-tv0",
}

const traces = "../testdata/traces"

// The simulated broker says what real brokers said, word by word. On a machine without Java this is what its worth rests on.
func TestRecordedTraces(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(traces, "*-tv*.txt"))
	if err != nil || len(files) != len(profiles) {
		t.Errorf("%d recordings, %d are known: %v", len(files), len(profiles), err)
	}
	kept := sequences(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			model, err := reference.New(profiles[name])
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			recorded, err := brokerfuzz.ParseTranscripts(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if len(recorded) != len(kept) {
				t.Errorf("%d sequences were recorded, there are %d: make record renews them", len(recorded), len(kept))
			}
			for i, real := range recorded {
				if i < len(kept) && real.Sequence.String() != kept[i].String() {
					t.Errorf("sequence %d has changed since it was recorded: make record renews it", i+1)
				}
				got, err := model.Run(real.Sequence)
				if err != nil {
					t.Errorf("sequence %d: %v", i+1, err)
					continue
				}
				if place, permitted := brokerfuzz.Compare(got, real); place != nil || permitted != nil {
					t.Errorf("sequence %d: %v %v\nthe model:\n%s\nthe real broker:\n%s", i+1, place, permitted, got, real)
				}
			}
		})
	}
}

func sequences(t *testing.T) []brokerfuzz.Sequence {
	text, err := os.ReadFile(filepath.Join(traces, "sequences.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := brokerfuzz.ParseAll(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Sequences that leave kinds of operation out would keep less than they seem to.
func TestRecordedSequencesHaveEveryKind(t *testing.T) {
	seen := map[brokerfuzz.Kind]int{}
	for _, s := range sequences(t) {
		for _, o := range s.Ops {
			seen[o.Kind]++
		}
	}
	for _, k := range brokerfuzz.Kinds() {
		if seen[k] == 0 && k != brokerfuzz.MoveLeader && k != brokerfuzz.MoveCoordinator {
			t.Errorf("no %s", k)
		}
	}
}
