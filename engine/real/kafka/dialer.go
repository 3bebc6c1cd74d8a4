package kafka

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer makes connections, with TLS where it is configured. It bounds the time itself: the client does not bound a dialer that
// is not its own.
type dialer struct {
	timeout time.Duration
	tls     *tls.Config
	through map[string]string
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	dialled := address
	if to, ok := d.through[address]; ok {
		dialled = to
	}
	if d.tls == nil {
		return (&net.Dialer{}).DialContext(ctx, network, dialled)
	}
	config := d.tls.Clone()
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		config.ServerName = host
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, network, dialled)
}
