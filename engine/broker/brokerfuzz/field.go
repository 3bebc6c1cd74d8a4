package brokerfuzz

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is one word of an operation: its name where one stands before it, what may stand there, and the place in Op.
type field struct {
	name  string   // of an option; empty: the word stands by itself
	what  string   // for people
	words []string // nil: see number
	// number says that a whole number is accepted, besides words.
	number bool
	usual  string // not printed
	text   func(o *Op) *string
	whole  func(o *Op) *int // where the word is always a number
}

var (
	who = []string{current, "previous", "older", "ahead", "foreign"}

	fProducer  = &field{what: "a producer", text: func(o *Op) *string { return &o.Producer }}
	fSequence  = &field{what: "a sequence", words: []string{"next", "dup", "gap", "old", "zero"}, text: func(o *Op) *string { return &o.Sequence }}
	fForm      = &field{what: "a kind of batch", words: []string{transactional, "idempotent", "plain"}, usual: transactional, text: func(o *Op) *string { return &o.Form }}
	fAs        = &field{name: "as", what: "an identity", words: who, usual: current, text: func(o *Op) *string { return &o.As }}
	fExpect    = &field{name: "expect", what: "an identity", words: who, text: func(o *Op) *string { return &o.As }}
	fVerdict   = &field{what: "a verdict", words: []string{"commit", "abort"}, text: func(o *Op) *string { return &o.Verdict }}
	fIsolation = &field{what: "an isolation", words: []string{"committed", "uncommitted"}, text: func(o *Op) *string { return &o.Isolation }}
	fDeleteAt  = &field{what: "an offset", words: []string{"high", "beyond"}, number: true, text: func(o *Op) *string { return &o.At }}
	fFetchAt   = &field{what: "an offset", words: []string{"start", "high", "beyond"}, number: true, text: func(o *Op) *string { return &o.At }}
	fListAt    = &field{what: "a time", words: []string{"earliest", "latest", "time", "future"}, text: func(o *Op) *string { return &o.At }}
	fMode      = &field{what: "a mode", words: []string{"stable", "unstable"}, text: func(o *Op) *string { return &o.Mode }}
	fAll       = &field{what: "all", words: []string{"all"}, text: func(o *Op) *string { return &o.All }}
	fUnknown   = &field{what: "unknown", words: []string{"unknown"}, text: func(o *Op) *string { return &o.Unknown }}
	fTerm      = &field{name: "coordinator", what: "a term", words: []string{same, "older", "newer"}, usual: same, text: func(o *Op) *string { return &o.Term }}

	fPartition = &field{what: "a partition", number: true}
	fBack      = &field{what: "how many requests back", number: true, whole: func(o *Op) *int { return &o.Back }}
	fRecords   = &field{name: "records", what: "a number of records", number: true, usual: "1", whole: func(o *Op) *int { return &o.Records }}
	fProtocol  = &field{name: "protocol", what: "a protocol", words: []string{"3", "4", "5"}}
)

// get is the word of a field, empty when there is none.
func (f *field) get(o *Op) string {
	switch {
	case f == fPartition:
		return strconv.Itoa(int(o.Partition))
	case f == fProtocol && o.Protocol == 0:
		return ""
	case f == fProtocol:
		return strconv.Itoa(int(o.Protocol))
	case f.whole != nil:
		return strconv.Itoa(*f.whole(o))
	}
	return *f.text(o)
}

// set puts a word into its field.
func (f *field) set(o *Op, word string) error {
	n, err := strconv.Atoi(word)
	number := err == nil && n >= 0 && n < 1<<20 && strconv.Itoa(n) == word
	if f != fProducer && !slices.Contains(f.words, word) && (!f.number || !number) {
		expect := strings.Join(f.words, ", ")
		if f.number {
			expect = strings.TrimPrefix(expect+", a number", ", ")
		}
		return fmt.Errorf("%q is not %s: %s", word, f.what, expect)
	}
	switch {
	case f == fPartition:
		o.Partition = int32(n)
	case f == fProtocol:
		o.Protocol = int16(n)
	case f.whole != nil:
		*f.whole(o) = n
	default:
		*f.text(o) = word
	}
	return nil
}
