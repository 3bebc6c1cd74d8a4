package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[18] = (*Broker).apiVersions }

// apiVersions shows what the broker's release offers, and the finalized features: the one that decides the transaction
// protocol as far as this broker has heard of it, and that of eligible leader replicas.
func (b *Broker) apiVersions(kreq kmsg.Request, reply func(kmsg.Response)) {
	resp := kreq.ResponseKind().(*kmsg.ApiVersionsResponse)
	resp.ApiKeys = b.profile.offers()
	if kreq.GetVersion() >= 3 {
		if level := b.level(); level > 0 {
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, finalized(transactionFeature, level))
		}
		if b.c.elr {
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, finalized(eligibleFeature, 1))
		}
		resp.FinalizedFeaturesEpoch = 1 + b.c.levels + b.c.enabled
	}
	if kreq.GetVersion() >= 4 { // older clients stumble over features whose lowest level is 0
		if b.profile.HasTransactionVersion {
			resp.SupportedFeatures = append(resp.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{Name: transactionFeature, MaxVersion: 2})
		}
		if b.profile.HasELR {
			resp.SupportedFeatures = append(resp.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{Name: eligibleFeature, MaxVersion: 1})
		}
	}
	reply(resp)
}

func finalized(name string, level int16) kmsg.ApiVersionsResponseFinalizedFeature {
	return kmsg.ApiVersionsResponseFinalizedFeature{Name: name, MaxVersionLevel: level, MinVersionLevel: level}
}
