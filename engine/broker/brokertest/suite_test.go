package brokertest

import (
	"errors"
	"slices"
	"testing"
)

// A list of deviations that is not exact in every respect would let a cluster become better, or worse, unseen.
func TestDeviationsAreExact(t *testing.T) {
	c := testCase{number: 7, name: "a property"}
	known := []Deviation{{Case: "P7", Fact: "a", Is: "1", Reason: "because"}, {Case: "P8", Fact: "b", Is: "1", Reason: "another's"}}
	for _, x := range []struct {
		name   string
		wrong  []difference
		err    error
		listed int
		bad    []string
	}{
		{"as listed", []difference{{"a", "1", "0"}}, nil, 1, nil},
		{"another value", []difference{{"a", "2", "0"}}, nil, 0, []string{"a: 2; expected 0"}},
		{"another fact", []difference{{"a", "1", "0"}, {"b", "1", "0"}}, nil, 1, []string{"b: 1; expected 0"}},
		{"gone", nil, nil, 0, []string{"a: is listed as deviating and does not: because"}},
		{"does not get through", []difference{{"a", "1", "0"}}, errors.New("stuck"), 1, []string{"does not get through: stuck"}},
	} {
		p := property{wrong: x.wrong}
		bad, listed := p.judge(c, x.err, known)
		if !slices.Equal(bad, x.bad) || len(listed) != x.listed {
			t.Errorf("%s: bad %q, listed %q", x.name, bad, listed)
		}
	}
}

// Facts are compared, one by one.
func TestFactsAreCompared(t *testing.T) {
	var p property
	p.is("same", 1, int64(1))
	p.is("other", "a", "b")
	p.isOneOf("one of two", "a", "b", "a")
	p.isOneOf("none of two", "c", "b", "a")
	want := []difference{{"other", "a", "b"}, {"none of two", "c", "one of [b a]"}}
	if p.facts != 4 || !slices.Equal(p.wrong, want) {
		t.Fatalf("%d facts, wrong %v", p.facts, p.wrong)
	}
}

// The list of kfake is written as it is read, and its format says what is wrong with a line.
func TestListOfDeviations(t *testing.T) {
	if FormatDeviations(KfakeDeviations()) != kfake {
		t.Fatal("kfake.txt is not as FormatDeviations writes it: run TestKfake with -rewrite")
	}
	for _, bad := range []string{"P1 | a | b", "# why\nP1 | a"} {
		if _, err := ParseDeviations(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Each release is expected by its versions, and no name of another one is taken for it.
func TestReleaseNames(t *testing.T) {
	for name, want := range map[string]string{"4.0.0": "4.0.0", "4.0.2": "4.0", "k400-tv1": "4.0.0", "k401": "4.0", "k44": "4.4", "4.3.1": "4.2", "3.9.2": "3.9"} {
		if r, err := ReleaseOf(name); err != nil || r.Version != want {
			t.Errorf("%s: %s %v", name, r.Version, err)
		}
	}
	for _, name := range []string{"4.5.0", "k3", "", "4"} {
		if r, err := ReleaseOf(name); err == nil {
			t.Errorf("%q is taken for %s", name, r.Version)
		}
	}
}
