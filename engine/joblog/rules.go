package joblog

import "github.com/onefold/onefold/engine/id"

// Rules are the decisions on which the log's safety rests, as values: a control that shows what they are for puts
// another function in its place.
type Rules struct {
	// Mine reports whether the entry found at the position of my create is the one that I wrote.
	Mine func(found, written Entry) bool
	// Based reports whether the entry found one below my create is the one on which mine was built; found is nil when
	// nothing is there.
	Based func(found *Entry, base Entry) bool
	// Newest reports whether a claim that was created at one position counts while the log's newest is another.
	Newest func(claimed, newest id.Position) bool
}

// Sound is the rules of the protocol.
func Sound() Rules {
	return Rules{
		Mine: func(found, written Entry) bool { return found.Nonce == written.Nonce },
		Based: func(found *Entry, base Entry) bool {
			return found != nil && found.Nonce == base.Nonce
		},
		Newest: func(claimed, newest id.Position) bool { return claimed == newest },
	}
}

// WithoutNonce is a control: entries that say the same are taken for the same entry, whoever wrote them. So two writers of
// equal entries both believe that they wrote them, and neither looks whether the other has gone on.
func WithoutNonce() Rules {
	r := Sound()
	alike := func(a, b Entry) bool {
		return a.Kind == b.Kind && a.Generation == b.Generation && number(a) == number(b)
	}
	r.Mine = alike
	r.Based = func(found *Entry, base Entry) bool { return found != nil && alike(*found, base) }
	r.Newest = func(id.Position, id.Position) bool { return true }
	return r
}

// number is the checkpoint that an entry is about.
func number(e Entry) id.Checkpoint {
	if e.Ref != nil {
		return e.Ref.Checkpoint
	}
	return e.Checkpoint
}

// WithoutFloorCheck is a control: a writer that slept through a truncation writes below the floor and believes it.
func WithoutFloorCheck() Rules {
	r := Sound()
	r.Based = func(*Entry, Entry) bool { return true }
	r.Newest = func(id.Position, id.Position) bool { return true }
	return r
}
