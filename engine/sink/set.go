package sink

import (
	"slices"
	"strconv"
	"strings"
)

// Set is a set of ranges of a token, by index.
type Set struct{ words []uint64 }

// Add puts range i into the set.
func (s *Set) Add(i int) {
	for len(s.words) <= i/64 {
		s.words = append(s.words, 0)
	}
	s.words[i/64] |= 1 << (i % 64)
}

// Has reports whether range i is in the set.
func (s *Set) Has(i int) bool { return i/64 < len(s.words) && s.words[i/64]>>(i%64)&1 == 1 }

// Union is a new set with the elements of both.
func (s *Set) Union(o Set) Set {
	u := Set{slices.Clone(s.words)}
	for i, w := range o.words {
		if i < len(u.words) {
			u.words[i] |= w
		} else {
			u.words = append(u.words, w)
		}
	}
	return u
}

// String is the set in hexadecimal, range 0 the lowest bit of the first word; words are separated by dots.
func (s *Set) String() string {
	var b []byte
	for i, w := range s.words {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, w, 16)
	}
	if len(b) == 0 {
		return "0"
	}
	return string(b)
}

func parseSet(text string) (Set, bool) {
	var s Set
	if text == "0" {
		return s, true
	}
	for _, part := range strings.Split(text, ".") {
		w, err := strconv.ParseUint(part, 16, 64)
		if err != nil {
			return Set{}, false
		}
		s.words = append(s.words, w)
	}
	return s, s.String() == text
}
