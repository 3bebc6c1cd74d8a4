package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
)

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
}

// Features asks for versions and the finalized transaction.version, repeated until ReadTimeout. It is asked once.
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
