package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[18] = (*Broker).apiVersions }

// apiVersions shows what the release offers, and the finalized feature that decides the transaction protocol.
func (b *Broker) apiVersions(kreq kmsg.Request, reply func(kmsg.Response)) {
	resp := kreq.ResponseKind().(*kmsg.ApiVersionsResponse)
	p := &b.c.profile
	resp.ApiKeys = p.offers()
	if kreq.GetVersion() >= 3 {
		resp.FinalizedFeaturesEpoch = 1
		if p.HasFeature {
			resp.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{
				Name: "transaction.version", MaxVersion: 2,
			}}
			if p.TransactionVersion > 0 {
				resp.FinalizedFeatures = []kmsg.ApiVersionsResponseFinalizedFeature{{
					Name: "transaction.version", MaxVersionLevel: p.TransactionVersion, MinVersionLevel: p.TransactionVersion,
				}}
			}
		}
	}
	reply(resp)
}
