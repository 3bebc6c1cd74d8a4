package sink

import (
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/kafka"
)

func soundBudget() Budget {
	return Budget{
		Interval: 5 * time.Second, LongestCheckpoint: 30 * time.Second, ToleratedFailures: 2, FailureDetection: 5 * time.Second,
		Rescheduling: 10 * time.Second, Restore: time.Minute, CommitRetries: 30 * time.Second, TransactionTimeout: 5 * time.Minute,
	}
}

// A timeout that is too short loses a completed checkpoint's data at the worst moment; the refusal prints the sum.
func TestTooShortTimeoutIsRefused(t *testing.T) {
	b := soundBudget()
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if b.Sum() != 210*time.Second {
		t.Fatalf("sum %v", b.Sum())
	}
	b.TransactionTimeout = 210 * time.Second
	if err := b.Check(); err == nil || !strings.Contains(err.Error(), "= 3m30s") {
		t.Fatalf("%v", err)
	}
	b.TransactionTimeout, b.BrokerMaxTimeout = 5*time.Minute, 4*time.Minute
	if err := b.Check(); err == nil || !strings.Contains(err.Error(), "transaction.max.timeout.ms") {
		t.Fatalf("%v", err)
	}
	for _, c := range []struct {
		open time.Duration
		want Age
	}{{149 * time.Second, AgeFine}, {150 * time.Second, AgeWarn}, {210 * time.Second, AgeForce}, {270 * time.Second, AgePage}} {
		if got := b.AgeOf(c.open); got != c.want {
			t.Errorf("%v: %v, want %v", c.open, got, c.want)
		}
	}
}

// Each setting that the guarantee rests on, set wrongly, is named.
func TestAuditNamesEachWrongSetting(t *testing.T) {
	cfg := AuditConfig{Budget: soundBudget(), Horizon: time.Hour}
	for _, c := range []struct {
		entry kafka.ConfigEntry
		level Level
		says  string
	}{
		{kafka.ConfigEntry{Name: "transaction.max.timeout.ms", Value: "60000"}, Refuse, "transaction.max.timeout.ms"},
		{kafka.ConfigEntry{Name: "transaction.partition.verification.enable", Value: "false"}, Refuse, "verification"},
		{kafka.ConfigEntry{Name: "offsets.retention.minutes", Value: "60"}, Refuse, "offsets.retention.minutes"},
		{kafka.ConfigEntry{Name: "unclean.leader.election.enable", Value: "true"}, Warn, "unclean"},
	} {
		expectNotice(t, AuditBroker([]kafka.ConfigEntry{c.entry}, cfg), c.level, c.says)
	}
	for _, c := range []struct {
		entries []kafka.ConfigEntry
		level   Level
		says    string
	}{
		{[]kafka.ConfigEntry{{Name: "cleanup.policy", Value: "delete"}, {Name: "retention.ms", Value: "60000"}}, Warn, "retention.ms"},
		{[]kafka.ConfigEntry{{Name: "cleanup.policy", Value: "compact"}, {Name: "min.compaction.lag.ms", Value: "0"}}, Warn, "min.compaction.lag.ms"},
		{[]kafka.ConfigEntry{{Name: "message.timestamp.type", Value: "LogAppendTime"}}, Note, "LogAppendTime"},
		{[]kafka.ConfigEntry{{Name: "min.insync.replicas", Value: "1"}}, Warn, "min.insync.replicas"},
		{[]kafka.ConfigEntry{{Name: "retention.bytes", Value: "1000"}}, Warn, "retention.bytes"},
		{[]kafka.ConfigEntry{{Name: "unclean.leader.election.enable", Value: "true"}}, Refuse, "unclean"},
	} {
		expectNotice(t, AuditTopic(kafka.TopicConfigs{Topic: "out", Entries: c.entries}, cfg.Horizon), c.level, c.says)
	}
	sound := []kafka.ConfigEntry{{Name: "cleanup.policy", Value: "delete"}, {Name: "retention.ms", Value: "604800000"}, {Name: "min.insync.replicas", Value: "2"}, {Name: "retention.bytes", Value: "-1"}}
	if got := AuditTopic(kafka.TopicConfigs{Topic: "out", Entries: sound}, cfg.Horizon); len(got) > 0 {
		t.Errorf("a sound topic: %v", got)
	}
	if got := AuditBroker([]kafka.ConfigEntry{{Name: "transaction.max.timeout.ms", Value: "900000"}, {Name: "offsets.retention.minutes", Value: "10080"}}, cfg); len(got) > 0 {
		t.Errorf("a sound broker: %v", got)
	}
	unclean := []kafka.ConfigEntry{{Name: "unclean.leader.election.enable", Value: "true"}}
	expectNotice(t, AuditOffsets(kafka.TopicConfigs{Entries: unclean}, nil), Refuse, "__consumer_offsets: unclean")
	expectNotice(t, AuditOffsets(kafka.TopicConfigs{Code: kafka.UnknownTopicOrPartition}, unclean), Refuse, "__consumer_offsets: unclean")
	if got := AuditOffsets(kafka.TopicConfigs{Entries: sound}, unclean); len(got) > 0 {
		t.Errorf("brokers with unclean elections, lanes without: %v", got)
	}
	old := kafka.Features{MaxVersions: make([]int16, 70)}
	old.MaxVersions[24] = 3
	expectNotice(t, AuditFeatures(old), Refuse, "3.5")
}

func expectNotice(t *testing.T, list []Notice, level Level, says string) {
	t.Helper()
	for _, n := range list {
		if n.Level == level && strings.Contains(n.Text, says) {
			return
		}
	}
	t.Errorf("no %v about %q: %v", level, says, list)
}
