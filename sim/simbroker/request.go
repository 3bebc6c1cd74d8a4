package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

// handlers by API key. Fetch is called apart, since it waits on its connection.
var handlers [67]handler

// offered lists the requests that every release here knows, with their versions where releases agree.
var offered = []kmsg.ApiVersionsResponseApiKey{
	{ApiKey: 0, MinVersion: 3},
	{ApiKey: 1, MinVersion: 4},
	{ApiKey: 2, MinVersion: 1, MaxVersion: 8},
	{ApiKey: 3, MinVersion: 0, MaxVersion: 12},
	{ApiKey: 8, MinVersion: 2},
	{ApiKey: 9, MinVersion: 1},
	{ApiKey: 10, MinVersion: 0, MaxVersion: 4},
	{ApiKey: 16, MinVersion: 0, MaxVersion: 4},
	{ApiKey: 18, MinVersion: 0, MaxVersion: 4},
	{ApiKey: 19, MinVersion: 2, MaxVersion: 7},
	{ApiKey: 20, MinVersion: 1, MaxVersion: 6},
	{ApiKey: 21, MinVersion: 0, MaxVersion: 2},
	{ApiKey: 22, MinVersion: 0},
	{ApiKey: 24, MinVersion: 0},
	{ApiKey: 25, MinVersion: 0},
	{ApiKey: 26, MinVersion: 0},
	{ApiKey: 27, MinVersion: 1},
	{ApiKey: 28, MinVersion: 0},
	{ApiKey: 32, MinVersion: 1, MaxVersion: 4},
	{ApiKey: 37, MinVersion: 0, MaxVersion: 3},
	{ApiKey: 42, MinVersion: 0, MaxVersion: 2},
	{ApiKey: 47, MinVersion: 0, MaxVersion: 0},
	{ApiKey: 60, MinVersion: 0, MaxVersion: 1},
	{ApiKey: 61, MinVersion: 0, MaxVersion: 0},
	{ApiKey: 65, MinVersion: 0, MaxVersion: 0},
	{ApiKey: 66, MinVersion: 0},
}

// offers is offered with the versions of a release.
func (p *Profile) offers() []kmsg.ApiVersionsResponseApiKey {
	out := append([]kmsg.ApiVersionsResponseApiKey(nil), offered...)
	for i := range out {
		out[i].MinVersion, out[i].MaxVersion = p.versions(out[i].ApiKey)
	}
	return out
}

// versions is the range that a release offers of a request; 0 to -1 if it does not have it.
func (p *Profile) versions(key int16) (lo, hi int16) {
	for i := range offered {
		if offered[i].ApiKey != key {
			continue
		}
		lo, hi = offered[i].MinVersion, offered[i].MaxVersion
		switch key {
		case 0:
			hi = p.MaxProduce
		case 1:
			hi = p.MaxFetch
		case 8:
			hi = p.MaxOffsetCommit
		case 9:
			hi = p.MaxOffsetFetch
		case 22:
			hi = p.MaxInitProducerID
		case 24:
			hi = p.MaxAddPartitions
		case 25:
			hi = p.MaxAddOffsets
		case 26:
			hi = p.MaxEndTxn
		case 27:
			hi = p.MaxWriteTxnMarkers
		case 28:
			hi = p.MaxTxnOffsetCommit
		case 66:
			hi = p.MaxListTransactions
		}
		return lo, hi
	}
	return 0, -1
}

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
