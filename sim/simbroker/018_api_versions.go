package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[18] = (*Broker).apiVersions }

// apiVersions shows what the broker's release offers, and the finalized feature that decides the transaction protocol, as
// far as this broker has heard of it.
func (b *Broker) apiVersions(kreq kmsg.Request, reply func(kmsg.Response)) {
	resp := kreq.ResponseKind().(*kmsg.ApiVersionsResponse)
	resp.ApiKeys = b.profile.offers()
	if kreq.GetVersion() >= 3 && b.profile.HasFeature {
		if kreq.GetVersion() >= 4 { // older clients stumble over features whose lowest level is 0
			resp.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{Name: featureName, MaxVersion: 2}}
		}
		if level := b.level(); level > 0 {
			resp.FinalizedFeatures = []kmsg.ApiVersionsResponseFinalizedFeature{{
				Name: featureName, MaxVersionLevel: level, MinVersionLevel: level,
			}}
		}
	}
	if kreq.GetVersion() >= 3 {
		resp.FinalizedFeaturesEpoch = 1 + b.c.levels
	}
	reply(resp)
}
