// Package kafka sends the engine's requests to a real cluster over franz-go's connections.
//
// It holds no verdict, no retry class and no order of the protocol: it resolves a node to an address, sends a request at
// exactly its version, and tells "not sent" from "outcome unknown". Three rules make that exact:
//
//   - Each request goes out in a wrapper. The client calls its AppendTo only to write it, so a request that failed before that
//     call was never sent, and after it nothing is known.
//   - The wrapper refuses every version but the one that it carries, before anything is written.
//   - The next request to an address is handed to the client when the one before has been written or has failed, so requests
//     arrive in the order of sending.
//
// Each loop has clients of its own per address and class, so neither a long poll nor a large batch nor a broker that hangs
// delays another class or loop. A request that carries a timeout for the broker has a connection of its own within a class.
package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
)

// Config says how to reach a cluster.
type Config struct {
	Bootstrap []string // host:port; Invariant: not empty
	ClientID  string
	TLS       *tls.Config    // nil: plain text. ServerName is set per broker when empty.
	SASL      sasl.Mechanism // nil: none
	// Through are addresses to dial in place of the brokers' own: tunnels, and the proxies of tests.
	Through map[string]string

	DialTimeout time.Duration // of one dial with its handshake; default 5 s
	Overhead    time.Duration // how long an answer may take beyond the request's own timeout; default 10 s
}

// Cluster is one Kafka cluster as seen by one process. It keeps the addresses of its brokers.
type Cluster struct {
	config Config
	book   *book
	dialer *dialer
}

// New checks the configuration; it connects to nothing.
func New(c Config) (*Cluster, error) {
	if len(c.Bootstrap) == 0 {
		return nil, errors.New("no brokers: name at least one as HOST:PORT")
	}
	for _, a := range c.Bootstrap {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("broker %q: not of the form HOST:PORT", a)
		}
	}
	if c.ClientID == "" {
		c.ClientID = "onefold"
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = 5 * time.Second
	}
	if c.Overhead == 0 {
		c.Overhead = 10 * time.Second
	}
	cluster := &Cluster{config: c, book: newBook(c.Bootstrap), dialer: &dialer{timeout: c.DialTimeout, tls: c.TLS, through: c.Through}}
	if err := kgo.ValidateOpts(cluster.options(c.Bootstrap[0], cluster.dialer.dial)...); err != nil {
		return nil, fmt.Errorf("kafka client: %w", err)
	}
	return cluster, nil
}

// Requests are the cluster's connections of one class for one loop. They close with the loop.
func (c *Cluster) Requests(l env.Loop, class broker.Class) broker.Requests {
	r := &requests{cluster: c, loop: l, class: class, links: map[string]*link{}}
	l.OnClose(r.close)
	return r
}

// options are those of a client for one address. Its own view of the cluster is never used: it asks for one each hour, which is
// the longest that it allows.
func (c *Cluster) options(address string, dial dialFunc) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(address),
		kgo.ClientID(c.config.ClientID),
		kgo.SoftwareNameAndVersion("onefold", "1"),
		kgo.MetadataMaxAge(time.Hour),
		kgo.DisableClientMetrics(),
		kgo.RequestTimeoutOverhead(c.config.Overhead),
		kgo.Dialer(dial),
	}
	if c.config.SASL != nil {
		opts = append(opts, kgo.SASL(c.config.SASL))
	}
	return opts
}
