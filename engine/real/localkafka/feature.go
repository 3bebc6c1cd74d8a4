package localkafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Feature sets the finalized level of a feature of the running cluster, as kafka-features.sh does: the last step of a rolling
// upgrade.
func (c *Cluster) Feature(ctx context.Context, name string, level int16) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...))
	if err != nil {
		return err
	}
	defer cl.Close()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.MaxVersionLevel, f.UpgradeType = name, level, 1
	req.FeatureUpdates = append(req.FeatureUpdates, f)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return fmt.Errorf("feature %s to %d: %w", name, level, err)
	}
	err = kerr.ErrorForCode(resp.ErrorCode)
	for _, r := range resp.Results {
		if err == nil {
			err = kerr.ErrorForCode(r.ErrorCode)
		}
	}
	if err != nil {
		why := ""
		if resp.ErrorMessage != nil {
			why = ": " + *resp.ErrorMessage
		}
		return fmt.Errorf("feature %s to %d: %w%s", name, level, err, why)
	}
	return nil
}
