package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[27] = (*Broker).writeTxnMarkers }

// writeTxnMarkers serves markers by hand, as an administrator or a repair sends them.
func (b *Broker) writeTxnMarkers(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.WriteTxnMarkersRequest)
	resp := req.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	if b.c.cfg.NoClusterRights {
		markersAll(resp, req, clusterAuthorization)
		reply(resp)
		return
	}
	markersAll(resp, req, ok)
	left := 1
	done := func() {
		if left--; left == 0 {
			reply(resp)
		}
	}
	for i := range req.Markers {
		q := &req.Markers[i]
		m := marker{pid: q.ProducerID, epoch: q.ProducerEpoch, commit: q.Committed, coord: q.CoordinatorEpoch}
		if req.Version >= 2 {
			m.version = q.TransactionVersion
		}
		for j := range q.Topics {
			for k, num := range q.Topics[j].Partitions {
				code := &resp.Markers[i].Topics[j].Partitions[k].ErrorCode
				p := b.partition(q.Topics[j].Topic, num)
				if p == nil {
					*code = unknownTopicOrPartition
					continue
				}
				left++
				p.writeMarker(b, m, func(answer int16) {
					*code = answer
					done()
				})
			}
		}
	}
	done()
}

func markersAll(resp *kmsg.WriteTxnMarkersResponse, req *kmsg.WriteTxnMarkersRequest, code int16) {
	resp.Markers = make([]kmsg.WriteTxnMarkersResponseMarker, len(req.Markers))
	for i := range req.Markers {
		m := &resp.Markers[i]
		m.ProducerID = req.Markers[i].ProducerID
		for _, t := range req.Markers[i].Topics {
			rt := kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: t.Topic}
			for _, num := range t.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{
					Partition: num, ErrorCode: code,
				})
			}
			m.Topics = append(m.Topics, rt)
		}
	}
}
