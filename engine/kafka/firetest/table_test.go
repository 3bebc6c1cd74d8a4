package firetest_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/kafka/firetest"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of RETRIES.md anew")

const retries = "../RETRIES.md"

// A document that says something else than the client does would be believed.
func TestTableIsTheMatrix(t *testing.T) { sameInDocument(t, "matrix", firetest.Table()) }

// sameInDocument compares what stands between two marks in RETRIES.md.
func sameInDocument(t *testing.T, name, want string) {
	t.Helper()
	text, err := os.ReadFile(retries)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "<!-- "+name+" -->\n")
	got, tail, end := strings.Cut(rest, "<!-- end of "+name+" -->")
	switch {
	case !ok || !end:
		t.Fatalf("%s has no marks for %q", retries, name)
	case got == want:
	case *rewrite:
		if err := os.WriteFile(retries, []byte(head+"<!-- "+name+" -->\n"+want+"<!-- end of "+name+" -->"+tail), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table %q of RETRIES.md is not what the tests ask:\n%s\nwrite it anew: go test ./engine/kafka/firetest -run Table -args -rewrite", name, newLines(got, want))
	}
}

// A call without a line, or a line without a call, would be asked by nobody.
func TestEveryCallHasItsLine(t *testing.T) {
	for _, c := range firetest.Calls {
		if _, ok := firetest.Of(c.Name); !ok {
			t.Errorf("%q has no line in the matrix", c.Name)
		}
	}
	if len(firetest.Calls) != len(firetest.Matrix) {
		t.Errorf("%d calls, %d lines", len(firetest.Calls), len(firetest.Matrix))
	}
}

// newLines are the lines of b that a does not have.
func newLines(a, b string) string {
	var lines []string
	for line := range strings.Lines(b) {
		if !strings.Contains(a, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
