// Package invariant checks what only a bug can break, at the place where it would do harm: what the world can do is an error
// instead. Checks stay on in production; those that are expensive (whole-state scans) are called Check as methods of a core,
// and only when the world asks for them.
package invariant

import "fmt"

// Violation is what a failed check panics with. A world reports it as the verdict INVARIANT; production stops the
// process.
type Violation struct{ Text string }

func (v Violation) Error() string { return "invariant violated: " + v.Text }

// Check panics with a Violation unless ok. The text carries ids.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic(Violation{fmt.Sprintf(format, args...)})
	}
}
