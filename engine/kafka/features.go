package kafka

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
)

const apiVersions = 18 // the key of the request

// Features is what ApiVersions tells.
type Features struct {
	// TransactionVersion is the finalized feature transaction.version; 0 where the cluster has none.
	TransactionVersion int16
	// MaxVersions is the highest version per request key; -1 is unknown to the broker.
	MaxVersions []int16
}

// Max is the highest version that the broker knows of a request; -1 if it does not know the request.
func (f Features) Max(key int16) int16 {
	if key < 0 || int(key) >= len(f.MaxVersions) {
		return -1
	}
	return f.MaxVersions[key]
}

// Protocol is the generation of the transaction protocol to use: 5 on transaction.version 2, 4 below. The advertised
// ranges of versions do not decide: at transaction.version 0 an EndTxn of version 5 wedges its id.
func (f Features) Protocol() int16 {
	if f.TransactionVersion >= 2 {
		return 5
	}
	return 4
}

// features is what is known so far, and who waits for it.
type features struct {
	known   bool
	asking  bool
	is      Features
	waiting []func(error)
	doubted []int32 // brokers that are being asked for their own versions
}

// Features asks for versions and the finalized transaction.version, repeated until ReadTimeout. It is asked once: one broker
// speaks for all until another hangs up.
func (c *Client) Features(done func(Features, error)) {
	c.later(func() { c.withFeatures(func(err error) { done(c.feat.is, err) }) })
}

// withFeatures calls fn once the versions are known: at once if they are.
func (c *Client) withFeatures(fn func(error)) {
	if c.feat.known {
		fn(nil)
		return
	}
	c.feat.waiting = append(c.feat.waiting, fn)
	if c.feat.asking {
		return
	}
	c.feat.asking = true
	// Version 4 shows features whose lowest version is 0. A broker that does not know it either is never sent it, or
	// answers with 35.
	version := int16(4)
	c.repeat("versions", c.cfg.ReadTimeout, func(again func(error)) {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = version
		version = 7 - version
		req.ClientSoftwareName, req.ClientSoftwareVersion = "onefold", "1"
		c.send(broker.Control, c.cluster.anyNode(), req, 0, func(r kmsg.Response, err error) {
			if err != nil {
				again(err)
				return
			}
			resp := r.(*kmsg.ApiVersionsResponse)
			if code := Code(resp.ErrorCode); code != OK {
				again(code)
				return
			}
			c.feat.is, c.feat.known = readFeatures(resp), true
			c.feat.release(nil)
		})
	}, c.feat.release)
}

// doubt asks a broker that hung up for its own versions. In a cluster that is being upgraded the one that was asked first may
// be of a newer release, and an older one ends a connection with the first version that it does not know. From then on no
// request has a version that one of them does not know. It is told of each request that had no answer.
func (c *Client) doubt(node int32, key int16, err error) {
	f := &c.feat
	if err == nil || errors.Is(err, broker.ErrNotSent) || key == apiVersions || node < 0 || !f.known || slices.Contains(f.doubted, node) {
		return
	}
	f.doubted = append(f.doubted, node)
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 3 // the oldest that shows what is compared; a broker that does not know it answers with 35
	req.ClientSoftwareName, req.ClientSoftwareVersion = "onefold", "1"
	c.send(broker.Control, node, req, 0, func(r kmsg.Response, err error) {
		f.doubted = slices.DeleteFunc(f.doubted, func(n int32) bool { return n == node })
		if err != nil {
			return // whoever is sent to it next will doubt it again
		}
		if resp := r.(*kmsg.ApiVersionsResponse); Code(resp.ErrorCode) == OK {
			f.is = f.is.common(readFeatures(resp))
		}
	})
}

// common holds the versions that two brokers know.
func (f Features) common(other Features) Features {
	both := Features{TransactionVersion: f.TransactionVersion, MaxVersions: slices.Clone(f.MaxVersions)}
	for key := range both.MaxVersions {
		both.MaxVersions[key] = min(both.MaxVersions[key], other.Max(int16(key)))
	}
	return both
}

func (f *features) release(err error) {
	waiting := f.waiting
	f.waiting, f.asking = nil, false
	for _, fn := range waiting {
		fn(err)
	}
}

func readFeatures(resp *kmsg.ApiVersionsResponse) Features {
	var f Features
	for _, k := range resp.ApiKeys {
		if k.ApiKey < 0 {
			continue
		}
		for int(k.ApiKey) >= len(f.MaxVersions) {
			f.MaxVersions = append(f.MaxVersions, -1)
		}
		f.MaxVersions[k.ApiKey] = k.MaxVersion
	}
	for _, x := range resp.FinalizedFeatures {
		if x.Name == "transaction.version" {
			f.TransactionVersion = x.MaxVersionLevel
		}
	}
	return f
}

// pin sets the version of a request: want, or the broker's highest where that is lower. It is called with the versions
// known.
func (c *Client) pin(req kmsg.Request, want int16) error {
	best := c.feat.is.Max(req.Key())
	if best < 0 {
		return notSent("%s: the broker does not know this request", kmsg.NameForKey(req.Key()))
	}
	req.SetVersion(min(want, best))
	return nil
}

// pinExactly is pin for requests whose meaning changes with the version.
func (c *Client) pinExactly(req kmsg.Request, want int16) error {
	if best := c.feat.is.Max(req.Key()); best < want {
		return notSent("%s: version %d is needed, the broker knows %d", kmsg.NameForKey(req.Key()), want, best)
	}
	req.SetVersion(want)
	return nil
}
