package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

// handlers by API key. Fetch is called apart, since it waits on its connection.
var handlers [67]handler

// unsupported answers 35 to a version that is not offered; nil, which ends the connection, where the response has no place
// for a code of its own.
func unsupported(req kmsg.Request) kmsg.Response {
	resp := req.ResponseKind()
	switch r := resp.(type) {
	case *kmsg.ApiVersionsResponse:
		r.Version = 0 // the one version that any client can read
		r.ErrorCode = unsupportedVersion
	case *kmsg.InitProducerIDResponse:
		r.ErrorCode, r.ProducerID, r.ProducerEpoch = unsupportedVersion, -1, -1
	case *kmsg.EndTxnResponse:
		r.ErrorCode, r.ProducerID, r.ProducerEpoch = unsupportedVersion, -1, -1
	case *kmsg.AddOffsetsToTxnResponse:
		r.ErrorCode = unsupportedVersion
	case *kmsg.ListTransactionsResponse:
		r.ErrorCode = unsupportedVersion
	case *kmsg.FetchResponse:
		r.ErrorCode = unsupportedVersion
	case *kmsg.ProduceResponse:
		produceAll(r, req.(*kmsg.ProduceRequest), unsupportedVersion)
	case *kmsg.TxnOffsetCommitResponse:
		txnOffsetAll(r, req.(*kmsg.TxnOffsetCommitRequest), unsupportedVersion)
	case *kmsg.AddPartitionsToTxnResponse:
		r.ErrorCode = unsupportedVersion
		addPartitionsAll(r, req.(*kmsg.AddPartitionsToTxnRequest), unsupportedVersion)
	case *kmsg.WriteTxnMarkersResponse:
		markersAll(r, req.(*kmsg.WriteTxnMarkersRequest), unsupportedVersion)
	default:
		return nil
	}
	return resp
}
