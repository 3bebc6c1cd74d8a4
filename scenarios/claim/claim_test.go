package claim

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/token"
)

// If this failed, a job's log would be held against its topics for something else than it says; and both the simulator's runs
// and those on real brokers would be judged by it.
func TestOf(t *testing.T) {
	h := checker.NewHistory()
	in, out := h.AddTopic("in", checker.Input, 2), h.AddTopic("out", checker.Output, 1)
	manifest := func(blob.Key) []byte {
		document, err := json.Marshal(map[string]any{"subtasks": []any{
			map[string]any{"operators": []any{map[string]any{"positions": []any{
				map[string]any{"topic": "in", "partition": 1, "position": 7}, map[string]any{"topic": "another", "position": 9},
			}}}},
			map[string]any{"name": `"positions":[1]`, "operators": []any{map[string]any{"positions": []any{map[string]any{"topic": "in", "position": 3}}}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return joblog.Seal(document)
	}
	gone := func(blob.Key) []byte { return nil }
	tokens := []token.Token{{Sink: "s", Subtask: 2, ProducerID: 4, ProducerEpoch: 5, Ranges: []token.Range{{Topic: "out", First: 10, Last: 12, Count: 3}}}}
	transactions := []checker.Transaction{{Sink: "s", Subtask: 2, ProducerID: 4, ProducerEpoch: 5, State: "completed"}}
	completed := joblog.Entry{Kind: joblog.Completed, Generation: 1, Ref: &joblog.CheckpointRef{Checkpoint: 6, Manifest: "m"}, Tokens: tokens}
	loss := &joblog.Loss{Checkpoint: 6, Items: []joblog.LostRange{{Token: tokens[0], Range: tokens[0].Ranges[0], Reason: "deleted"}}}
	for _, c := range []struct {
		entry    joblog.Entry
		manifest func(blob.Key) []byte
		want     checker.Claim // the zero value: none
	}{
		{joblog.Entry{Kind: joblog.Claimed, Position: 9, Generation: 9}, gone, checker.Claim{Kind: checker.GenerationClaimed, Generation: 9}},
		{completed, manifest, checker.Claim{
			Kind: checker.CheckpointCompleted, Generation: 1, Checkpoint: 6, Transactions: transactions,
			Positions: []checker.Position{{Topic: in, Partition: 1, Offset: 7}, {Topic: in, Offset: 3}},
		}},
		{completed, gone, checker.Claim{Kind: checker.CheckpointCompleted, Generation: 1, Checkpoint: 6, Transactions: transactions}},
		{joblog.Entry{Kind: joblog.Confirmed, Generation: 1, Checkpoint: 6}, gone, checker.Claim{Kind: checker.CheckpointConfirmed, Generation: 1, Checkpoint: 6}},
		{joblog.Entry{Kind: joblog.Abandoned, Generation: 1, Checkpoint: 6, Reason: "x"}, gone, checker.Claim{Kind: checker.CheckpointAbandoned, Generation: 1, Checkpoint: 6, Reason: "x"}},
		{joblog.Entry{Kind: joblog.Rewound, Generation: 1, Checkpoint: 6}, gone, checker.Claim{Kind: checker.RewoundTo, Generation: 1, Checkpoint: 6}},
		{joblog.Entry{Kind: joblog.Lost, Generation: 1, Loss: loss}, gone, checker.Claim{
			Kind: checker.Loss, Generation: 1, Checkpoint: 6, Reason: "deleted",
			Lost: []checker.LostRange{{Topic: out, First: 10, Last: 12, Count: 3, ProducerID: 4, ProducerEpoch: 5}},
		}},
		{joblog.Entry{Kind: joblog.Stopped, Generation: 1, Ended: true}, gone, checker.Claim{Kind: checker.Ended, Generation: 1}},
		{joblog.Entry{Kind: joblog.Stopped, Generation: 1, Reason: "by its user"}, gone, checker.Claim{}},
		{joblog.Entry{Kind: joblog.Fenced, Generation: 1}, gone, checker.Claim{}},
	} {
		got, ok := Of(h, c.entry, c.manifest)
		if !ok {
			got = checker.Claim{}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.entry.Kind, got, c.want)
		}
	}
}
