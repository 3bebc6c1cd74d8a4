package kafka

import (
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
)

// book has the addresses of a cluster's brokers. It learns them from the replies that pass through: a metadata reply replaces
// the list, a coordinator's address is added.
type book struct {
	bootstrap []string

	mu      sync.Mutex
	nodes   map[int32]string
	next    int    // which bootstrap address is asked
	edition uint64 // rises with each change of nodes
}

func newBook(bootstrap []string) *book {
	return &book{bootstrap: slices.Clone(bootstrap), nodes: map[int32]string{}}
}

// address of a node; false if it is not known.
func (b *book) address(node int32) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if node == broker.Bootstrap {
		return b.bootstrap[b.next%len(b.bootstrap)], true
	}
	a, ok := b.nodes[node]
	return a, ok
}

// failed turns to the next bootstrap address if this one was the one in turn.
func (b *book) failed(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bootstrap[b.next%len(b.bootstrap)] == address {
		b.next++
	}
}

// learn takes the addresses from a reply.
func (b *book) learn(reply kmsg.Response) {
	switch r := reply.(type) {
	case *kmsg.MetadataResponse:
		if len(r.Brokers) == 0 {
			return
		}
		nodes := make(map[int32]string, len(r.Brokers))
		for _, n := range r.Brokers {
			nodes[n.NodeID] = join(n.Host, n.Port)
		}
		b.mu.Lock()
		b.nodes = nodes
		b.edition++
		b.mu.Unlock()
	case *kmsg.FindCoordinatorResponse:
		b.add(r.NodeID, r.Host, r.Port)
		for _, c := range r.Coordinators {
			b.add(c.NodeID, c.Host, c.Port)
		}
	}
}

func (b *book) add(node int32, host string, port int32) {
	if node < 0 || host == "" || port <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := join(host, port); b.nodes[node] != a {
		b.nodes[node] = a
		b.edition++
	}
}

// since returns the present edition, and the addresses that are in use if it is not the one given.
func (b *book) since(edition uint64) (uint64, map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.edition == edition {
		return edition, nil
	}
	used := make(map[string]bool, len(b.nodes)+len(b.bootstrap))
	for _, a := range b.bootstrap {
		used[a] = true
	}
	for _, a := range b.nodes { // order irrelevant: a set
		used[a] = true
	}
	return b.edition, used
}

func join(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
