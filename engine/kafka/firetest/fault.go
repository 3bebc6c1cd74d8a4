package firetest

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/kafka"
)

// Mode is how an answer goes wrong.
type Mode uint8

// The modes.
const (
	Answered Mode = iota // the broker answers with a code and does nothing
	Applied              // the broker does what is asked and answers with a code
	NotSent              // the request never leaves, and that is known
	Broken               // the connection breaks before the request takes effect
	Lost                 // it takes effect, then the connection breaks
	Silent               // it takes effect, and no answer comes
)

var modeNames = [...]string{"answered", "applied", "not sent", "broken", "lost", "silent"}

// Fault is what happens to a request.
type Fault struct {
	Mode Mode
	Code kafka.Code // of Answered and Applied
}

func (f Fault) String() string {
	switch f.Mode {
	case Answered:
		return fmt.Sprint(int16(f.Code))
	case Applied:
		return fmt.Sprintf("%d applied", int16(f.Code))
	}
	return modeNames[f.Mode]
}

// errBroken is a connection that breaks: the outcome is unknown.
var errBroken = errors.New("connection broken by the test")

// Codes are all codes that are sent to a request: those that the client knows, and one that it does not.
func Codes() []kafka.Code { return append(kafka.Codes(), 999) }

// Faults are all that can happen to a request of a kind.
func Faults() []Fault {
	var all []Fault
	for _, c := range Codes() {
		all = append(all, Fault{Answered, c})
	}
	for _, c := range unknownOutcome {
		all = append(all, Fault{Applied, c})
	}
	return append(all, Fault{Mode: NotSent}, Fault{Mode: Broken}, Fault{Mode: Lost}, Fault{Mode: Silent})
}

// unknownOutcome are codes after which a request may have taken effect.
var unknownOutcome = []kafka.Code{
	kafka.UnknownServerError, kafka.RequestTimedOut, kafka.NetworkException, kafka.CoordinatorNotAvailable,
	kafka.NotEnoughReplicasAfter,
}
