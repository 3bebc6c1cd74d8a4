package joblog

import (
	"time"

	"github.com/onefold/onefold/engine/id"
)

// Facts of the core. Err is nil, blob.ErrExists or blob.ErrNotFound where they can occur, anything else is unknown.
type (
	// ReadAsked asks for the newest entry.
	ReadAsked struct{}
	// OpenAsked asks for the newest entry of a log that is created by this entry when there is none.
	OpenAsked struct{ Created Entry }
	// ClaimAsked asks for the next generation; the log must have been created. With Only set, the claim is given up when
	// the newest generation is another one than Newest: somebody else has claimed meanwhile.
	ClaimAsked struct {
		Claimed Entry
		Only    bool
		Newest  id.Generation
	}
	// AppendAsked asks for the next position as the generation that was claimed.
	AppendAsked struct{ Entry Entry }
	// Listed answers List.
	Listed struct {
		Positions []id.Position // ascending
		Err       error
	}
	// Got answers Get.
	Got struct {
		Position id.Position
		Object   []byte
		Err      error
	}
	// Made answers Create.
	Made struct {
		Position id.Position
		Err      error
	}
	// Waited answers Wait.
	Waited struct{}
)

// Effects of the core. At most one is under way.
type (
	// List lists the log.
	List struct{}
	// Get reads the object at a position.
	Get struct{ Position id.Position }
	// Create creates it.
	Create struct {
		Position id.Position
		Object   []byte
	}
	// Wait lets time pass before the same effect is repeated.
	Wait struct{ For time.Duration }
	// Finish answers what was asked. Tail is nil when there is no log.
	Finish struct {
		Tail *Entry
		Err  error
	}
)

// Fact is one of the facts above.
type Fact interface{ fact() }

// Effect is one of the effects above.
type Effect interface{ effect() }

func (ReadAsked) fact()   {}
func (OpenAsked) fact()   {}
func (ClaimAsked) fact()  {}
func (AppendAsked) fact() {}
func (Listed) fact()      {}
func (Got) fact()         {}
func (Made) fact()        {}
func (Waited) fact()      {}

func (List) effect()   {}
func (Get) effect()    {}
func (Create) effect() {}
func (Wait) effect()   {}
func (Finish) effect() {}
