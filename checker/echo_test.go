package checker

import (
	"slices"
	"testing"
)

// Forty tries of one create that nobody was answered are judged at once, and still excuse nothing: a reader that finds
// what none of them wrote convicts, and so does a create that was told done at a position taken before.
func TestEchoesOfACreate(t *testing.T) {
	var tries []LogOperation
	for i := range int64(40) {
		tries = append(tries, LogOperation{Client: 1, Call: 10 * i, Return: 1 << 62, Kind: LogCreate, Position: 1, Nonce: 7, Result: LogUnknown})
	}
	read := LogOperation{Client: 2, Call: 500, Return: 510, Kind: LogRead, Position: 1, Nonce: 7, Result: LogDone}
	wrong, second := read, LogOperation{Client: 2, Call: 600, Return: 610, Kind: LogCreate, Position: 1, Nonce: 9, Result: LogDone}
	wrong.Nonce = 8
	deleted := LogOperation{Client: 2, Call: 520, Return: 530, Kind: LogDelete, Position: 1, Result: LogDone}
	again := LogOperation{Client: 2, Call: 540, Return: 550, Kind: LogRead, Position: 1, Nonce: 7, Result: LogDone} // a late try
	for _, c := range []struct {
		name  string
		ops   []LogOperation
		legal bool
	}{
		{"read back", []LogOperation{read}, true},
		{"deleted, and there again", []LogOperation{read, deleted, again}, true},
		{"another entry", []LogOperation{wrong}, false},
		{"created twice", []LogOperation{read, second}, false},
	} {
		h := NewHistory()
		h.JobLog = slices.Concat(tries, c.ops)
		found := slices.ContainsFunc(Check(h, nil, Options{}).Findings, func(f Finding) bool { return f.Place == "job log" })
		if found == c.legal {
			t.Errorf("%s: job log found wrong %v, legal %v", c.name, found, c.legal)
		}
	}
}
