package embedded

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Started again on the same data the broker must have what it acknowledged, and nobody else may have the data meanwhile.
func TestDataSurvivesAndHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	b, err := Start(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(dir, ""); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Fatalf("a second owner: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Address))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: []byte("kept")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	cl.Close()
	address := b.Address
	b.Close()
	b, err = Start(dir, address)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Address != address {
		t.Fatalf("at %s, asked for %s", b.Address, address)
	}
	cl, err = kgo.NewClient(kgo.SeedBrokers(b.Address), kgo.ConsumeTopics("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if records := cl.PollFetches(ctx).Records(); len(records) != 1 || string(records[0].Value) != "kept" {
		t.Fatalf("after the restart: %v", records)
	}
}

// Servers that take a while to listen must not be given one port.
func TestFreePortIsGivenOnce(t *testing.T) {
	given := map[int]bool{}
	for range 50 {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %d twice", port)
		}
		given[port] = true
	}
}
