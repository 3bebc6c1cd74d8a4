package faults

import (
	"fmt"
	"strconv"
	"strings"
)

// SyntaxError is a place in a plan file where it cannot be understood. Line and Column count from 1; columns are bytes.
type SyntaxError struct {
	Line, Column int
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("plan: line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// word is a blank-separated part of a line, with its column.
type word struct {
	text   string
	column int
}

// line reads the words of one line of a plan, one after the other.
type line struct {
	number int
	words  []word
	next   int
	end    int // column after the last byte
}

func split(number int, s string) *line {
	l := &line{number: number, end: len(s) + 1}
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		j := i
		for j < len(s) && s[j] != ' ' && s[j] != '\t' {
			j++
		}
		l.words = append(l.words, word{s[i:j], i + 1})
		i = j
	}
	return l
}

func (l *line) more() bool { return l.next < len(l.words) }

func (l *line) peek() string {
	if l.more() {
		return l.words[l.next].text
	}
	return ""
}

// take returns the next word; what says what should be there.
func (l *line) take(what string) (word, error) {
	if !l.more() {
		return word{}, &SyntaxError{l.number, l.end, what + " is missing"}
	}
	l.next++
	return l.words[l.next-1], nil
}

// expect takes the word text, which must be next.
func (l *line) expect(text string) error {
	w, err := l.take("\"" + text + "\"")
	if err == nil && w.text != text {
		return l.wrong(w, "%q where %q should be", w.text, text)
	}
	return err
}

func (l *line) wrong(w word, format string, args ...any) error {
	return &SyntaxError{l.number, w.column, fmt.Sprintf(format, args...)}
}

func (l *line) done() error {
	if l.more() {
		w := l.words[l.next]
		return l.wrong(w, "%q is too much", w.text)
	}
	return nil
}

// Parse reads a plan file. Its errors are SyntaxErrors.
func Parse(text string) (Plan, error) {
	p := Plan{}
	lines := strings.Split(text, "\n")
	seen := map[string]bool{}
	for i, s := range lines {
		s = strings.TrimSuffix(s, "\r")
		if c, ok := strings.CutPrefix(strings.TrimSpace(s), "#"); ok {
			if !seen["onefold"] {
				p.Comment = append(p.Comment, strings.TrimPrefix(c, " "))
			}
			continue
		}
		l := split(i+1, s)
		if len(l.words) == 0 {
			continue
		}
		if err := p.parseLine(l, seen); err != nil {
			return Plan{}, err
		}
	}
	for _, k := range []string{"onefold", "scenario"} {
		if !seen[k] {
			return Plan{}, &SyntaxError{len(lines), 1, fmt.Sprintf("the file ends without a line %q", headers[k])}
		}
	}
	if p.Engine == "" {
		p.Engine = "sound"
	}
	return p, nil
}

// headers are the header lines, by first word, as an example shows them.
var headers = map[string]string{
	"onefold": "onefold plan 1", "scenario": "scenario NAME", "seed": "seed N", "world": "world KEY=VALUE ...",
	"engine": "engine NAME", "expect": "expect VERDICT ...",
}

func (p *Plan) parseLine(l *line, seen map[string]bool) error {
	first, _ := l.take("")
	if _, header := headers[first.text]; header {
		if seen[first.text] {
			return l.wrong(first, "a second line %q", first.text)
		}
		if first.text != "onefold" && !seen["onefold"] {
			return l.wrong(first, "the first line must be %q", headers["onefold"])
		}
		seen[first.text] = true
		return p.parseHeader(l, first.text)
	}
	if first.text != "at" && first.text != "on" {
		return l.wrong(first, "%q begins no line; known are onefold, scenario, seed, world, engine, expect, at, on", first.text)
	}
	if !seen["scenario"] {
		return l.wrong(first, "a fault before the line %q", headers["scenario"])
	}
	f, err := parseFault(l, first.text == "on")
	if err == nil {
		p.Faults = append(p.Faults, f)
	}
	return err
}

func (p *Plan) parseHeader(l *line, kind string) error {
	if kind == "onefold" {
		if err := l.expect("plan"); err != nil {
			return err
		}
		if err := l.expect("1"); err != nil {
			return err
		}
		return l.done()
	}
	for first := true; first || l.more(); first = false {
		w, err := l.take(strings.SplitN(headers[kind], " ", 2)[1])
		if err != nil {
			return err
		}
		switch kind {
		case "scenario":
			p.Scenario = w.text
		case "engine":
			p.Engine = w.text
		case "expect":
			p.Expect = append(p.Expect, w.text)
			continue
		case "seed":
			if p.Seed, err = strconv.ParseUint(w.text, 10, 64); err != nil {
				return l.wrong(w, "%q is no seed: a whole number from 0 to 2^64-1", w.text)
			}
		case "world":
			k, v, ok := strings.Cut(w.text, "=")
			if !ok || k == "" || v == "" {
				return l.wrong(w, "%q is not KEY=VALUE", w.text)
			}
			if _, twice := p.Get(k); twice {
				return l.wrong(w, "%q a second time", k)
			}
			p.Set(k, v)
			continue
		}
		return l.done()
	}
	return nil
}
