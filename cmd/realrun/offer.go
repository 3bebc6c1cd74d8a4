package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/sim/simbroker/reference"
)

// offers has every broker of a cluster tell what it offers. An answer is waited for ten seconds, and a broker that does not
// listen not at all: who compares has a cluster that runs.
func offers(ctx context.Context, brokers []string) ([]reference.Offer, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ClientID("realrun"))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := cl.Ping(ctx); err != nil {
		return nil, noKafka(brokers, err, "is it running? `.ci/kafka start` starts one and prints its address")
	}
	answers, err := kadm.NewClient(cl).ApiVersions(ctx)
	if err != nil {
		return nil, fmt.Errorf("versions of the brokers at %v: %w", brokers, err)
	}
	var all []reference.Offer
	for _, a := range answers.Sorted() {
		if a.Err != nil {
			return nil, fmt.Errorf("versions of broker %d: %w", a.NodeID, a.Err)
		}
		o := reference.Offer{Node: a.NodeID}
		a.EachKeySorted(o.Add)
		for _, f := range a.Raw().FinalizedFeatures {
			if f.Name == "transaction.version" {
				o.TransactionVersion = f.MaxVersionLevel
			}
		}
		all = append(all, o)
	}
	return all, nil
}
