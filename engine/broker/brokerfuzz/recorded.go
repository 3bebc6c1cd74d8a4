package brokerfuzz

import (
	"fmt"
	"strings"
)

// ParseTranscripts reads a file of transcripts, one behind the other.
func ParseTranscripts(text string) ([]Transcript, error) {
	sequences, err := ParseAll(text)
	if err != nil {
		return nil, err
	}
	out := make([]Transcript, 0, len(sequences))
	var t *Transcript
	begun := false // the operations of t
	for i, line := range strings.Split(text, "\n") {
		answer, answered := strings.CutPrefix(line, bar)
		words := strings.Fields(line)
		switch {
		case answered && !begun:
			return nil, fmt.Errorf("transcript: line %d: an answer to no operation", i+1)
		case answered && strings.HasPrefix(answer, ending):
			t.Rest = append(t.Rest, answer)
		case answered:
			n := len(t.Answers) - 1
			t.Answers[n] = append(t.Answers[n], answer)
		case strings.Join(words, " ") == title:
			out = append(out, Transcript{Sequence: sequences[len(out)]})
			t, begun = &out[len(out)-1], false
		case len(words) > 0 && shapeOf(Kind(words[0])) != nil:
			t.Answers = append(t.Answers, nil)
			begun = true
		}
	}
	return out, nil
}

// ending begins the lines that say what readers see in the end.
const ending = "in the end "
