// Package blob is the port to durable storage: immutable objects under slash-separated keys, created only if absent.
//
// Create-if-absent is the single atomic step on which the job log rests. Any store with a conditional put will do, and so
// will a local directory. Package blobtest holds the suite that every implementation passes.
package blob

import "errors"

// Key is a slash-separated path such as "log/0000000000000007". Each part matches [a-zA-Z0-9._-]+ and is not "." or "..".
type Key string

// The two definite errors. Every other error leaves the outcome unknown: the object may or may not have been created or
// deleted. All operations are safe to repeat.
var (
	ErrExists   = errors.New("blob exists")
	ErrNotFound = errors.New("blob not found")
)

// Store keeps objects. done runs later on the loop that the store was made for.
type Store interface {
	// Create stores b under k if nothing is there; ErrExists otherwise. After done(nil) the object is durable and
	// visible to every process. b must not be changed before done.
	Create(k Key, b []byte, done func(error))
	// Get reads the whole object.
	Get(k Key, done func([]byte, error))
	// List returns the keys that begin with prefix, in ascending order.
	List(prefix Key, done func([]Key, error))
	// Delete removes the object; an absent one is no error.
	Delete(k Key, done func(error))
}
