package joblog

// Rules are the two decisions on which the log's safety rests, as values: a control that shows what each is for puts
// another function in its place.
type Rules struct {
	// Mine reports whether the entry found at the position of my create is the one that I wrote.
	Mine func(found, written Entry) bool
	// Based reports whether the entry found one below my create is the one on which mine was built; found is nil when
	// nothing is there.
	Based func(found *Entry, base Entry) bool
}

// Sound is the rules of the protocol.
func Sound() Rules {
	return Rules{
		Mine: func(found, written Entry) bool { return found.Nonce == written.Nonce },
		Based: func(found *Entry, base Entry) bool {
			return found != nil && found.Nonce == base.Nonce
		},
	}
}

// WithoutNonce is a control: two writers of equal entries both believe that they wrote them.
func WithoutNonce() Rules {
	r := Sound()
	r.Mine = func(found, written Entry) bool {
		return found.Kind == written.Kind && found.Generation == written.Generation && found.Checkpoint == written.Checkpoint
	}
	return r
}

// WithoutFloorCheck is a control: a writer that slept through a truncation writes below the floor and believes it.
func WithoutFloorCheck() Rules {
	r := Sound()
	r.Based = func(*Entry, Entry) bool { return true }
	return r
}
