package scenarios

import (
	"embed"
	"fmt"
	"strings"

	"github.com/onefold/onefold/faults"
)

//go:embed testdata/*.plan
var corpus embed.FS

// CorpusPlan is a plan that is kept: a situation that every campaign meets first.
type CorpusPlan struct {
	Name string // of its file, without .plan
	Plan faults.Plan
}

// Shows is the sentence that says what the plan shows.
func (c CorpusPlan) Shows() string { return strings.Join(c.Plan.Comment, " ") }

// Corpus lists the kept plans by name. It panics at a plan that does not parse: they are part of the program.
func Corpus() []CorpusPlan {
	files, err := corpus.ReadDir("testdata")
	if err != nil {
		panic(err)
	}
	var out []CorpusPlan
	for _, f := range files {
		text, err := corpus.ReadFile("testdata/" + f.Name())
		if err != nil {
			panic(err)
		}
		p, err := faults.Parse(string(text))
		if err != nil {
			panic(fmt.Sprintf("testdata/%s:%v", f.Name(), err))
		}
		out = append(out, CorpusPlan{Name: strings.TrimSuffix(f.Name(), ".plan"), Plan: p})
	}
	return out
}
