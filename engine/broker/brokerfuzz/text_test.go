package brokerfuzz

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// If this failed, a difference could not be kept as a text.
func TestSequencesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Draw(rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "number"), Shape{
			Ops: rapid.IntRange(0, 60).Draw(t, "operations"), Moves: rapid.Bool().Draw(t, "moves"),
		})
		back, err := Parse(s.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
		if len(s.Ops) == 0 {
			s.Ops = nil
		}
		if !reflect.DeepEqual(back, s) {
			t.Fatalf("wrote\n%sread\n%s", s, back)
		}
	})
}

// Every field of every kind survives, in any combination that the grammar knows.
func TestOperationsRoundTrip(t *testing.T) {
	s := Sequence{Partitions: 3, Producers: []Producer{{"a", "t0", 5, time.Minute}, {"b", "", 3, time.Second}}}
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(shapes).Draw(t, "kind")
		o := Op{Kind: shape.kind}
		for _, f := range append(append([]*field(nil), shape.fixed...), shape.option...) {
			words := append([]string(nil), f.words...)
			switch {
			case f == fProducer:
				words = []string{"a", "b"}
			case f.number:
				words = append(words, "1", "2")
			}
			if f.name == "" && f.usual == "" && f == fUnknown || f == fAll || f == fExpect || f == fProtocol {
				if rapid.Bool().Draw(t, "without") {
					continue
				}
			}
			if err := f.set(&o, rapid.SampledFrom(words).Draw(t, f.what)); err != nil {
				t.Fatal(err)
			}
		}
		s.Ops = []Op{o}
		back, err := Parse(s.String())
		if err != nil || back.Ops[0] != o {
			t.Fatalf("wrote %q (%+v), read %+v: %v", o, o, back.Ops, err)
		}
	})
}

func TestMistakesAreNamed(t *testing.T) {
	head := "onefold sequence 1\npartitions 2\nproducer a id t0 protocol 5 timeout 60s\n"
	for text, want := range map[string]string{
		"":                                   "there is none",
		"init a":                             "line 1",
		head + "produce b 0 next":            `line 4: produce: there is no producer "b"`,
		head + "produce a 2 next":            "there is no partition 2",
		head + "produce a 0 never":           `"never" is not a sequence: next, dup, gap, old, zero`,
		head + "produce a 0":                 "a sequence is missing",
		head + "jump":                        "there is no operation",
		head + "end a commit as":             "an identity behind \"as\" is missing",
		head + "end a commit soon":           `"soon" has no place here`,
		head + "repeat 0":                    "1 is the last request",
		head + "producer a id t1 protocol 5": "a producer is written",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}
