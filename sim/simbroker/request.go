package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

// handlers by API key. Fetch is called apart, since it waits on its connection.
var handlers [76]handler

// unsupported is the answer to a version that is not offered: 35 to ApiVersions, in the one form that any client can read.
// To all others it is nil, which ends the connection: a broker cannot read what it does not know.
func unsupported(req kmsg.Request) kmsg.Response {
	resp, isVersions := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if !isVersions {
		return nil
	}
	resp.Version, resp.ErrorCode = 0, unsupportedVersion
	return resp
}
