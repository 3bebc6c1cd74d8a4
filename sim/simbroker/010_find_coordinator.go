package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[10] = (*Broker).findCoordinator }

// findCoordinator tells who leads the partition of an internal topic. A broker that died is named until the controller has
// noticed.
func (b *Broker) findCoordinator(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.FindCoordinatorRequest)
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	keys := req.CoordinatorKeys
	if req.Version < 4 {
		keys = []string{req.CoordinatorKey}
	}
	for _, key := range keys {
		r := kmsg.NewFindCoordinatorResponseCoordinator()
		r.Key, r.NodeID, r.Port = key, -1, -1
		leader := int32(-1)
		switch {
		case req.CoordinatorType == 0 && key != "":
			leader = b.c.groupPartition(key).leader
			r.ErrorCode = coordinatorNotAvailable
		case req.CoordinatorType == 1 && key != "":
			leader = b.c.coordinator(key).leader
			r.ErrorCode = coordinatorNotAvailable
		default:
			r.ErrorCode = invalidRequest
		}
		if leader >= 0 {
			r.ErrorCode, r.NodeID, r.Host, r.Port = ok, leader, b.c.brokers[leader].node.Name(), 9092
		}
		resp.Coordinators = append(resp.Coordinators, r)
	}
	if req.Version < 4 {
		r := &resp.Coordinators[0]
		resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = r.ErrorCode, r.NodeID, r.Host, r.Port
	}
	reply(resp)
}
