package scenarios

import (
	"embed"
	"fmt"
	"strings"

	"github.com/onefold/onefold/faults"
)

//go:embed testdata/*.plan
var corpus embed.FS

//go:embed testdata/hazards/*.plan
var hazards embed.FS

// CorpusPlan is a plan that is kept: a situation that every campaign meets first.
type CorpusPlan struct {
	Name string // of its file, without .plan
	Plan faults.Plan
}

// Shows is the sentence that says what the plan shows.
func (c CorpusPlan) Shows() string { return strings.Join(c.Plan.Comment, " ") }

// Corpus lists the kept plans by name. It panics at a plan that does not parse: they are part of the program.
func Corpus() []CorpusPlan { return kept(corpus, "testdata") }

// HazardPlans lists the plans that put the engine in the way of a hazard, by name: hazards/H06-loss. Package hazard says
// under which profiles they are run, and what must have come about. It panics as Corpus does.
func HazardPlans() []CorpusPlan { return kept(hazards, "testdata/hazards") }

func kept(in embed.FS, dir string) []CorpusPlan {
	files, err := in.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	var out []CorpusPlan
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		text, err := in.ReadFile(dir + "/" + f.Name())
		if err != nil {
			panic(err)
		}
		p, err := faults.Parse(string(text))
		if err != nil {
			panic(fmt.Sprintf("%s/%s:%v", dir, f.Name(), err))
		}
		name := strings.TrimPrefix(dir+"/"+strings.TrimSuffix(f.Name(), ".plan"), "testdata/")
		out = append(out, CorpusPlan{Name: name, Plan: p})
	}
	return out
}
