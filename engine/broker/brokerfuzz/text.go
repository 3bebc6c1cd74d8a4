package brokerfuzz

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	title = "onefold sequence 1"
	bar   = "  | " // before each line of an answer
)

// String is the operation in one line.
func (o Op) String() string {
	var b strings.Builder
	b.WriteString(string(o.Kind))
	s := shapeOf(o.Kind)
	if s == nil {
		return b.String()
	}
	for _, f := range s.fixed {
		b.WriteString(" " + f.get(&o))
	}
	for _, f := range s.option {
		word := f.get(&o)
		if word == "" || word == f.usual {
			continue
		}
		if f.name != "" {
			b.WriteString(" " + f.name)
		}
		b.WriteString(" " + word)
	}
	return b.String()
}

// String is the sequence as Parse reads it.
func (s Sequence) String() string {
	b := strings.Builder{}
	s.head(&b)
	for _, o := range s.Ops {
		b.WriteString(o.String() + "\n")
	}
	return b.String()
}

func (s *Sequence) head(b *strings.Builder) {
	if s.Comment != "" {
		fmt.Fprintf(b, "# %s\n", s.Comment)
	}
	fmt.Fprintf(b, "%s\npartitions %d\n", title, s.Partitions)
	for _, p := range s.Producers {
		id := p.ID
		if id == "" {
			id = "none"
		}
		fmt.Fprintf(b, "producer %s id %s protocol %d timeout %s\n", p.Name, id, p.Protocol, p.Timeout)
	}
}

// Parse reads one sequence.
func Parse(text string) (Sequence, error) {
	all, err := ParseAll(text)
	switch {
	case err != nil:
		return Sequence{}, err
	case len(all) != 1:
		return Sequence{}, fmt.Errorf("sequence: %d of them where one is expected; each begins with %q", len(all), title)
	}
	return all[0], nil
}

// ParseAll reads a file of sequences, one behind the other.
func ParseAll(text string) ([]Sequence, error) {
	var p parser
	for i, line := range strings.Split(text, "\n") {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("sequence: line %d: %w", i+1, err)
		}
	}
	if len(p.all) == 0 {
		return nil, fmt.Errorf("sequence: there is none; each begins with %q", title)
	}
	return p.all, nil
}

type parser struct {
	all     []Sequence
	comment string
}

func (p *parser) line(line string) error {
	if strings.HasPrefix(line, strings.TrimRight(bar, " ")) {
		return nil
	}
	line, comment, commented := strings.Cut(line, "#")
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
		if commented {
			p.comment = strings.TrimSpace(comment)
		}
		return nil
	case strings.Join(words, " ") == title:
		p.all = append(p.all, Sequence{Comment: p.comment, Partitions: 1})
		p.comment = ""
		return nil
	case len(p.all) == 0:
		return fmt.Errorf("the first line is %q, not %.60q", title, strings.Join(words, " "))
	}
	s := &p.all[len(p.all)-1]
	switch words[0] {
	case "partitions":
		n, err := strconv.Atoi(last(words))
		if err != nil || len(words) != 2 || n < 1 || n > 64 {
			return fmt.Errorf("partitions takes a number from 1 to 64")
		}
		s.Partitions = int32(n)
		return nil
	case "producer":
		return s.readProducer(words)
	}
	o, err := s.readOp(words)
	if err == nil {
		s.Ops = append(s.Ops, o)
	}
	return err
}

func last(words []string) string { return words[len(words)-1] }

func (s *Sequence) readProducer(words []string) error {
	const form = "a producer is written: producer NAME id ID|none protocol 3|4|5 timeout DURATION"
	if len(words) != 8 || words[2] != "id" || words[4] != "protocol" || words[6] != "timeout" {
		return fmt.Errorf("%s", form)
	}
	p := Producer{Name: words[1], ID: words[3]}
	if p.ID == "none" {
		p.ID = ""
	}
	n, err := strconv.Atoi(words[5])
	d, bad := time.ParseDuration(words[7])
	switch {
	case err != nil || n < 3 || n > 5 || bad != nil || d < time.Millisecond || d != d.Truncate(time.Millisecond):
		return fmt.Errorf("%s", form)
	case s.producer(p.Name) != nil:
		return fmt.Errorf("there are two producers %s", p.Name)
	}
	p.Protocol, p.Timeout = int16(n), d
	s.Producers = append(s.Producers, p)
	return nil
}

func (s *Sequence) readOp(words []string) (Op, error) {
	o := Op{Kind: Kind(words[0])}
	shape := shapeOf(o.Kind)
	if shape == nil {
		return o, fmt.Errorf("there is no operation %q; there are: %s", words[0], kindNames())
	}
	for _, f := range shape.option {
		if f.usual != "" {
			_ = f.set(&o, f.usual) // its own
		}
	}
	rest := words[1:]
	for _, f := range shape.fixed {
		if len(rest) == 0 {
			return o, fmt.Errorf("%s: %s is missing", o.Kind, f.what)
		}
		if err := f.set(&o, rest[0]); err != nil {
			return o, fmt.Errorf("%s: %w", o.Kind, err)
		}
		rest = rest[1:]
	}
	for len(rest) > 0 {
		f := option(shape, rest[0])
		switch {
		case f == nil:
			return o, fmt.Errorf("%s: %q has no place here", o.Kind, rest[0])
		case f.name != "" && len(rest) < 2:
			return o, fmt.Errorf("%s: %s behind %q is missing", o.Kind, f.what, rest[0])
		case f.name != "":
			rest = rest[1:]
		}
		if err := f.set(&o, rest[0]); err != nil {
			return o, fmt.Errorf("%s: %w", o.Kind, err)
		}
		rest = rest[1:]
	}
	return o, s.check(&o)
}

// option is the field that a word begins.
func option(s *shape, word string) *field {
	for _, f := range s.option {
		if f.name == word || f.name == "" && slices.Contains(f.words, word) {
			return f
		}
	}
	return nil
}

// check finds what an operation may not name.
func (s *Sequence) check(o *Op) error {
	shape := shapeOf(o.Kind)
	switch {
	case slices.Contains(shape.fixed, fProducer) && s.producer(o.Producer) == nil:
		return fmt.Errorf("%s: there is no producer %q", o.Kind, o.Producer)
	case slices.Contains(shape.fixed, fPartition) && o.Partition >= s.Partitions:
		return fmt.Errorf("%s: there is no partition %d, the last is %d", o.Kind, o.Partition, s.Partitions-1)
	case o.Kind == Repeat && o.Back < 1:
		return fmt.Errorf("repeat: 1 is the last request")
	case o.Kind == Produce && (o.Records < 1 || o.Records > 100):
		return fmt.Errorf("produce: from 1 to 100 records")
	}
	return nil
}

func kindNames() string {
	var names []string
	for i := range shapes {
		names = append(names, string(shapes[i].kind))
	}
	return strings.Join(names, ", ")
}
