package checker

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
)

// A stored history must be judged as the run was, or a failure folder shows another failure.
func TestStoredHistoryIsJudgedAlike(t *testing.T) {
	for _, file := range []string{"testdata/properties", "testdata/combined"} {
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			h, o := history(t, d.Input), optionsOf(d)
			var b bytes.Buffer
			if err := h.Write(&b); err != nil {
				t.Fatal(err)
			}
			stored := b.String()
			again, err := Load(&b)
			if err != nil {
				t.Fatalf("%s: %v in\n%s", d.Pos, err, stored)
			}
			if diff := cmp.Diff(Check(h, sums{}, o), Check(again, sums{}, o)); diff != "" {
				t.Errorf("%s: %s", d.Pos, diff)
			}
			var twice bytes.Buffer
			if err := again.Write(&twice); err != nil || twice.String() != stored {
				t.Errorf("%s: stored twice differs: %v\n%s\n%s", d.Pos, err, stored, twice.String())
			}
			return d.Expected
		})
	}
}

// What is no history must say which line it cannot read.
func TestBadHistoryNamesItsLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"topic":{"name":"a","role":"input","partitions":1}}` + "\n" + `{"produced":{"topic":"b","partition":0,"offset":0}}`, `line 2: no topic "b"`},
		{`{"topic":{"name":"a","role":"sideways","partitions":1}}`, `line 1: "sideways" is no role`},
		{`{"nothing":{}}`, `line 1: json: unknown field`},
		{`{}`, `line 1: an object with none`},
		{`{"topic":{"name":"a","role":"input","partitions":1}}` + "\n" + `{"read":{"reader":"r","topic":"a","partition":0,"offset":0,"at":0}}`, `line 2: no reader "r"`},
		{`{"topic":{"name":"a","role":"input","partitions":1}}` + "\n" + `{"produced":{"topic":"a","partition":1,"offset":0}}`, `line 2: topic a has 1 partitions`},
		{`{"topic":{"name":"a","role":"input","partitions":1}}` + "\n" + `{"produced":{"topic":"a","partition":0,"offset":0,"sources":["a/0"]}}`, `neither topic/partition@offset`},
	} {
		if _, err := Load(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

// A history that names what it does not have must not panic a campaign.
func FuzzLoadAndCheck(f *testing.F) {
	f.Add([]byte(`{"topic":{"name":"in","role":"input","partitions":1}}
{"topic":{"name":"out","role":"output","partitions":1}}
{"reader":{"name":"final","final":true}}
{"produced":{"topic":"in","partition":0,"offset":0,"key":"a"}}
{"broker":{"topic":"out","partition":0,"offset":0,"outcome":"committed","producer":1,"sources":["in/0@0","in#-5","out/0@0"]}}
{"read":{"reader":"final","topic":"out","partition":0,"offset":0,"at":5,"sources":["in/0@9"]}}
{"claim":{"kind":"completed","checkpoint":1,"positions":["in/0@1"]}}
{"claim":{"kind":"confirmed","checkpoint":1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Load(bytes.NewReader(b))
		if err != nil {
			return
		}
		r := Check(h, sums{}, Options{Complete: true})
		if len(r.Verdicts) == 0 {
			t.Error("no verdict")
		}
	})
}

// No key is damaged by JSON, and no two become one.
func TestBinaryKeysStayApart(t *testing.T) {
	h := NewHistory()
	h.AddTopic("in", Input, 1)
	for i, k := range []string{"\xff\x00", "\xfe\x00", "plain"} {
		h.Records = append(h.Records, Record{Offset: int64(i), ProducerID: -1, Event: Event{Key: h.Key([]byte(k)), Number: -1}})
	}
	var b bytes.Buffer
	if err := h.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.keys) != 3 {
		t.Errorf("keys are %q", again.keys)
	}
}
