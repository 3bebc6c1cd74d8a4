package kafka

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// coordinatorKind tells the two kinds of coordinators apart, with Kafka's numbers.
type coordinatorKind int8

const (
	groupCoordinator coordinatorKind = 0
	txnCoordinator   coordinatorKind = 1
)

// coordinators is who coordinates which key, as far as is known.
type coordinators struct{ nodes map[string]int32 }

const findCoordinatorVersion = 4

// one is one try to be answered: a request, its version, and whether a lower one would mean something else.
type one struct {
	req     kmsg.Request
	version int16
	exact   bool
	extra   time.Duration // that the broker may take by design
}

func (c *Client) pinOne(o one) error {
	if o.exact {
		return c.pinExactly(o.req, o.version)
	}
	return c.pin(o.req, o.version)
}

// findCoordinator asks once, unless it is known. A Code that is not OK comes with an error that wraps ErrNotSent: it is
// about the question, not about what was to be sent.
func (c *Client) findCoordinator(kind coordinatorKind, key string, found func(node int32, code Code, err error)) {
	if node, ok := c.coords[kind].nodes[key]; ok {
		found(node, OK, nil)
		return
	}
	c.withFeatures(func(err error) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		if err == nil {
			err = c.pinExactly(req, findCoordinatorVersion)
		}
		if err != nil {
			found(-1, OK, notSent("find coordinator of %s: %w", key, err))
			return
		}
		req.CoordinatorType, req.CoordinatorKeys = int8(kind), []string{key}
		c.send(broker.Control, c.cluster.anyNode(), req, 0, func(r kmsg.Response, err error) {
			if err != nil {
				found(-1, OK, notSent("find coordinator of %s: %w", key, err))
				return
			}
			resp := r.(*kmsg.FindCoordinatorResponse)
			if len(resp.Coordinators) != 1 {
				found(-1, UnknownServerError, notSent("find coordinator of %s: %d answers", key, len(resp.Coordinators)))
				return
			}
			a := resp.Coordinators[0]
			if code := Code(a.ErrorCode); code != OK {
				found(-1, code, notSent("find coordinator of %s: %w", key, code))
				return
			}
			c.coords[kind].nodes[key] = a.NodeID
			found(a.NodeID, OK, nil)
		})
	})
}

// heard forgets a coordinator whose answer, or silence, says that it may be another.
func (c *Client) heard(kind coordinatorKind, key string, code Code, err error) {
	if err != nil || code == CoordinatorLoadInProgress || code.Class() == FindCoordinator {
		c.cfg.Process.Reached(coordinatorForgotten)
		delete(c.coords[kind].nodes, key)
	}
}

// toCoordinator sends once to the coordinator of a key. read gets the code out of an answer.
func (c *Client) toCoordinator(kind coordinatorKind, key string, o one, read func(kmsg.Response) Code, done func(kmsg.Response, Code, error)) {
	c.later(func() {
		c.findCoordinator(kind, key, func(node int32, code Code, err error) {
			if err == nil {
				err = c.pinOne(o)
			}
			if err != nil {
				c.later(func() { done(nil, code, err) })
				return
			}
			c.send(broker.Control, node, o.req, o.extra, func(r kmsg.Response, err error) {
				code := OK
				if err == nil {
					code = read(r)
				}
				c.heard(kind, key, code, err)
				done(r, code, err)
			})
		})
	})
}

// findLeader finds the leader of a partition in the view, or asks once.
func (c *Client) findLeader(tp id.TopicPartition, found func(node, epoch int32, code Code, err error)) {
	c.cluster.want(tp.Topic)
	if node, epoch, ok := c.cluster.leader(tp); ok {
		found(node, epoch, OK, nil)
		return
	}
	c.cluster.refresh(func(err error) {
		if err != nil {
			found(-1, -1, OK, notSent("find leader of %s: %w", tp, err))
			return
		}
		node, epoch, ok := c.cluster.leader(tp)
		if !ok {
			code := LeaderNotAvailable
			if _, known := c.cluster.partition(tp); !known {
				code = UnknownTopicOrPartition
			}
			found(-1, -1, code, notSent("find leader of %s: %w", tp, code))
			return
		}
		found(node, epoch, OK, nil)
	})
}

// withLeaders calls fn when the view has a leader for every partition, or has been refreshed once.
func (c *Client) withLeaders(parts []id.TopicPartition, failed func(error), fn func()) {
	if _, lost := c.cluster.byLeader(parts); len(lost) == 0 {
		fn()
		return
	}
	c.cluster.refresh(func(err error) {
		if err != nil {
			failed(err)
			return
		}
		fn()
	})
}

// misled notes that a leader's answer, or silence, says that it may be another: the view is refreshed for the next try.
func (c *Client) misled(tp id.TopicPartition, code Code, err error) {
	if err != nil || code.Class() == RefreshLeader {
		c.cluster.want(tp.Topic)
		c.cluster.refresh(func(error) {})
	}
}

// toLeader sends once to the leader of a partition. build gets the leader's epoch.
func (c *Client) toLeader(tp id.TopicPartition, class broker.Class, build func(epoch int32) one, read func(kmsg.Response) Code, done func(kmsg.Response, Code, error)) {
	c.later(func() {
		c.withFeatures(func(err error) {
			if err != nil {
				c.later(func() { done(nil, OK, notSent("versions: %w", err)) })
				return
			}
			c.findLeader(tp, func(node, epoch int32, code Code, err error) {
				o := one{}
				if err == nil {
					o = build(epoch)
					err = c.pinOne(o)
				}
				if err != nil {
					c.later(func() { done(nil, code, err) })
					return
				}
				c.send(class, node, o.req, o.extra, func(r kmsg.Response, err error) {
					code := OK
					if err == nil {
						code = read(r)
					}
					c.misled(tp, code, err)
					done(r, code, err)
				})
			})
		})
	})
}

// toNode sends once to a node.
func (c *Client) toNode(node int32, o one, done func(kmsg.Response, error)) {
	c.later(func() {
		c.withFeatures(func(err error) {
			if err == nil {
				err = c.pinOne(o)
			} else {
				err = notSent("versions: %w", err)
			}
			if err != nil {
				c.later(func() { done(nil, err) })
				return
			}
			c.send(broker.Control, node, o.req, o.extra, done)
		})
	})
}

// toController sends once to the controller.
func (c *Client) toController(o one, done func(kmsg.Response, error)) {
	c.later(func() {
		if c.cluster.controller >= 0 {
			c.toNode(c.cluster.controller, o, done)
			return
		}
		c.cluster.refresh(func(err error) {
			if err != nil {
				done(nil, notSent("find controller: %w", err))
				return
			}
			node := c.cluster.controller
			if node < 0 {
				node = broker.Bootstrap
			}
			c.toNode(node, o, done)
		})
	})
}

// controllerSays forgets the controller after an answer that says it is another.
func (c *Client) controllerSays(code Code, err error) {
	if err != nil || code == NotController {
		c.cluster.controller = -1
	}
}

// answered is the error of an answer that lacks what was asked for.
func answered(req string, what any) error {
	return fmt.Errorf("%s: the answer does not name %v", req, what)
}
