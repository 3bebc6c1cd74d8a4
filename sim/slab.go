package sim

// Slab hands out values that are made often and live about as long as the world: one allocation makes many of them. A block
// stays in memory as long as one of its values is used.
type Slab[T any] struct{ free []T }

const slabSize = 64

// New is a new zero value.
func (s *Slab[T]) New() *T {
	if len(s.free) == 0 {
		s.free = make([]T, slabSize)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
