package faults

import (
	"strconv"
	"strings"
)

// Plan is everything that repeats a run: the scenario with its seed and world, the engine, and the faults.
type Plan struct {
	Comment  []string // lines before the header, without their "# "
	Scenario string
	Seed     uint64
	World    []Setting // in the order in which they are printed; no key twice
	Engine   string    // "sound", or the name of a control
	Expect   []string  // verdicts; empty when none is expected in particular
	Faults   []Fault
}

// Setting is one key=value of the world.
type Setting struct{ Key, Value string }

// Get is the value of a setting of the world, and whether it is there.
func (p *Plan) Get(key string) (string, bool) {
	for _, s := range p.World {
		if s.Key == key {
			return s.Value, true
		}
	}
	return "", false
}

// Int is a whole number among the settings of the world, or the default.
func (p *Plan) Int(key string, otherwise int) int {
	v, ok := p.Get(key)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return otherwise
	}
	return n
}

// Set gives a setting of the world a value, in place or at the end.
func (p *Plan) Set(key, value string) {
	for i := range p.World {
		if p.World[i].Key == key {
			p.World[i].Value = value
			return
		}
	}
	p.World = append(p.World, Setting{key, value})
}

// Clone is a copy that shares nothing.
func (p Plan) Clone() Plan {
	p.Comment = append([]string(nil), p.Comment...)
	p.World = append([]Setting(nil), p.World...)
	p.Expect = append([]string(nil), p.Expect...)
	p.Faults = append([]Fault(nil), p.Faults...)
	return p
}

// String is the plan file.
func (p Plan) String() string {
	var b strings.Builder
	for _, c := range p.Comment {
		b.WriteString(strings.TrimRight("# "+c, " ") + "\n")
	}
	b.WriteString("onefold plan 1\n")
	b.WriteString("scenario " + p.Scenario + "\n")
	b.WriteString("seed " + strconv.FormatUint(p.Seed, 10) + "\n")
	if len(p.World) > 0 {
		b.WriteString("world")
		for _, s := range p.World {
			b.WriteString(" " + s.Key + "=" + s.Value)
		}
		b.WriteString("\n")
	}
	b.WriteString("engine " + p.Engine + "\n")
	if len(p.Expect) > 0 {
		b.WriteString("expect " + strings.Join(p.Expect, " ") + "\n")
	}
	for _, f := range p.Faults {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}
