// Package broker is the port to Kafka: one request to one broker.
//
// The seam is the request, not a client: leaders, batches, sequences, retries and transactions are engine/kafka's, the
// same code in both worlds, and below this port there are only connections. So the simulated broker, an embedded kfake
// and real Kafka are asked in the same words. Package stage is where scripts play on any of them, brokertest is the suite that
// all of them pass, and brokerfuzz asks two of them at random and compares their answers.
package broker

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bootstrap is the node to ask before any other is known. The port learns addresses from the Metadata and FindCoordinator
// replies that pass through it.
const Bootstrap int32 = -1

// ErrNotSent is the one definite error: the request never left. Every other error leaves the outcome unknown. Test with
// errors.Is.
var ErrNotSent = errors.New("request not sent")

// Class separates connections, so that a commit never waits behind a long poll or a large batch.
type Class uint8

// The classes of connections.
const (
	Control Class = iota // metadata, coordinators, transactions, offsets, everything small
	Fetch
	Produce
)

// Requests sends Kafka requests for one loop over the connections of one class.
type Requests interface {
	// Send sends req, at exactly the version that is set in it, to a node. done runs later on the same loop. req belongs
	// to the port until done; a response belongs to the caller and is never reused, but its bytes must not be changed.
	// Requests to one node over one class arrive in the order of Send unless the connection breaks between them.
	Send(node int32, req kmsg.Request, done func(kmsg.Response, error))
	// SendBoth sends two requests as two frames in one write, so that both arrive or neither is processed alone by
	// accident of a dying sender. It exists for the repair of a dropped marker. One error answers both.
	SendBoth(node int32, first, second kmsg.Request, done func(kmsg.Response, kmsg.Response, error))
}
