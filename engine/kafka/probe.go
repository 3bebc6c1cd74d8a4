package kafka

import "github.com/onefold/onefold/engine/probe"

// Lines that a campaign must reach.
var (
	batchSentAgain       = probe.New("kafka: a batch was sent again")
	fetchRepeated        = probe.New("kafka: a fetch was repeated")
	coordinatorForgotten = probe.New("kafka: a coordinator was forgotten")
)
