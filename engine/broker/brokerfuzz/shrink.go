package brokerfuzz

// Shrink drops operations, partitions' second halves and words while differs stays true. differs is asked at most limit
// times; the order of candidates is fixed.
func Shrink(s Sequence, limit int, differs func(Sequence) bool) Sequence {
	ask := func(c Sequence) bool {
		if limit <= 0 || !c.sound() {
			return false
		}
		limit--
		return differs(c)
	}
	for again := true; again && limit > 0; {
		again = false
		for n := max(1, len(s.Ops)/2); n >= 1; n /= 2 {
			for i := 0; i < len(s.Ops); {
				c := s.Clone()
				c.Ops = append(c.Ops[:i], c.Ops[min(i+n, len(c.Ops)):]...)
				if ask(c) {
					s, again = c, true
				} else {
					i += n
				}
			}
		}
		for i := range s.Ops {
			for _, c := range s.simpler(i) {
				if ask(c) {
					s, again = c, true
				}
			}
		}
	}
	return s.tidy()
}

// simpler are variants of one operation.
func (s *Sequence) simpler(i int) (out []Sequence) {
	change := func(fn func(o *Op)) {
		c := s.Clone()
		if fn(&c.Ops[i]); c.Ops[i] != s.Ops[i] {
			out = append(out, c)
		}
	}
	change(func(o *Op) { o.Records = min(o.Records, 1) })
	change(func(o *Op) { o.Protocol = 0 })
	change(func(o *Op) { o.Unknown = "" })
	change(func(o *Op) {
		if o.Kind != Init && o.As != "" {
			o.As = current
		}
	})
	change(func(o *Op) {
		if o.Kind == Init {
			o.As = ""
		}
	})
	change(func(o *Op) {
		if o.Term != "" {
			o.Term = same
		}
	})
	change(func(o *Op) {
		if o.Sequence != "" {
			o.Sequence = "next"
		}
	})
	return out
}

// tidy drops producers that do nothing.
func (s Sequence) tidy() Sequence {
	kept := s.Producers[:0:0]
	for _, p := range s.Producers {
		used := false
		for _, o := range s.Ops {
			used = used || o.Producer == p.Name
		}
		if used {
			kept = append(kept, p)
		}
	}
	s.Producers = kept
	return s
}

// sound tells whether every operation can be written.
func (s *Sequence) sound() bool {
	for i := range s.Ops {
		if s.check(&s.Ops[i]) != nil {
			return false
		}
	}
	return true
}
