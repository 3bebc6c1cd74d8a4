package outside

import (
	"embed"
	"strings"
)

//go:embed testdata/*.plan
var kept embed.FS

// Plan is a plan that is kept for both worlds, as its file has it.
type Plan struct {
	Name string // of its file, without .plan
	Text string
}

// Plans lists the kept plans by name.
func Plans() []Plan {
	files, err := kept.ReadDir("testdata")
	if err != nil {
		panic(err)
	}
	var out []Plan
	for _, f := range files {
		text, err := kept.ReadFile("testdata/" + f.Name())
		if err != nil {
			panic(err)
		}
		out = append(out, Plan{strings.TrimSuffix(f.Name(), ".plan"), string(text)})
	}
	return out
}
