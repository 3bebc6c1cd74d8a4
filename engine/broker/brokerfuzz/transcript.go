package brokerfuzz

import "strings"

// Transcript is a sequence with what a cluster answered.
type Transcript struct {
	Sequence Sequence
	// Answers are the lines of each operation. There are fewer than operations when an id got stuck.
	Answers [][]string
	// Rest is what readers see in the end.
	Rest []string
}

// String is the sequence with the answers below each operation. It parses as the sequence.
func (t Transcript) String() string {
	var b strings.Builder
	t.Sequence.head(&b)
	for i, o := range t.Sequence.Ops {
		b.WriteString(o.String() + "\n")
		if i < len(t.Answers) {
			answer(&b, t.Answers[i])
		}
	}
	answer(&b, t.Rest)
	return b.String()
}

func answer(b *strings.Builder, lines []string) {
	for _, l := range lines {
		b.WriteString(bar + l + "\n")
	}
}
