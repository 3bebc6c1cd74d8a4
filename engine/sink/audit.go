package sink

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/proc"
)

// Level is how serious a notice is.
type Level uint8

// The levels.
const (
	Note   Level = iota // worth knowing
	Warn                // the guarantee holds, but what is to save it in trouble may not
	Refuse              // the job must not start
)

var levelNames = [...]string{"note", "warn", "refuse"}

func (l Level) String() string { return levelNames[l] }

// Notice is one line of an audit.
type Notice struct {
	Level Level
	Text  string
}

func (n Notice) String() string { return n.Level.String() + ": " + n.Text }

// AuditConfig says what to audit. Horizon is how long after a crash a salvage must still find the aborted records.
type AuditConfig struct {
	Process *proc.Process
	Loop    env.Loop
	Budget  Budget
	Sinks   []Spec
	Horizon time.Duration
	// OffsetsRetention is what the sinks count on. 0 is the default of Kafka.
	OffsetsRetention time.Duration
}

// Audit asks the cluster for everything outside the job that its guarantee rests on. What it is not allowed to see is a
// notice, not an error.
func Audit(cfg AuditConfig, done func([]Notice, error)) {
	c := kafka.New(kafka.Config{Process: cfg.Process, Loop: cfg.Loop, ReadTimeout: readTimeout})
	c.Features(func(f kafka.Features, err error) {
		if err != nil {
			done(nil, fmt.Errorf("audit: %w", err))
			return
		}
		notices := AuditFeatures(f)
		c.MetadataFrom(-1, nil, func(m kafka.Metadata, _ kafka.Code, err error) {
			node := int32(-1)
			if err == nil && len(m.Brokers) > 0 {
				node = m.Brokers[0]
			}
			c.BrokerConfigs(node, func(entries []kafka.ConfigEntry, code kafka.Code, err error) {
				if err != nil || code != kafka.OK {
					notices = append(notices, Notice{Warn, fmt.Sprintf("the broker's settings are not to be seen: %v", firstError(err, code))})
					entries = nil
				}
				notices = append(notices, AuditBroker(entries, cfg)...)
				topics := []string{offsetsTopic}
				for _, s := range cfg.Sinks {
					topics = append(topics, s.Topic)
				}
				c.DescribeConfigs(topics, func(list []kafka.TopicConfigs, err error) {
					if err != nil {
						notices = append(notices, Notice{Warn, fmt.Sprintf("the topics' settings are not to be seen: %v", err)})
					}
					for i, t := range list {
						if i == 0 {
							notices = append(notices, AuditOffsets(t, entries)...)
							continue
						}
						notices = append(notices, AuditTopic(t, cfg.Horizon)...)
					}
					c.Close()
					done(notices, nil)
				})
			})
		})
	})
}

// AuditFeatures judges what ApiVersions tells.
func AuditFeatures(f kafka.Features) []Notice {
	const writeTxnMarkers = 27
	var list []Notice
	if err := checkFeatures(f); err != nil {
		list = append(list, Notice{Refuse, err.Error()})
	}
	if f.TransactionVersion < 2 {
		list = append(list, Notice{Note, fmt.Sprintf("transaction.version is %d: below 2 each id is initialised between uses, which costs one request per epoch", f.TransactionVersion)})
	}
	if f.Max(writeTxnMarkers) >= 2 {
		list = append(list, Notice{Note, "Kafka 4.3 and 4.4 may drop the end marker of a partition without a leader (KAFKA-20734): commits are confirmed at every partition and repaired"})
	}
	return list
}

// AuditBroker judges a broker's settings, and the budget with the largest timeout that it allows.
func AuditBroker(entries []kafka.ConfigEntry, cfg AuditConfig) []Notice {
	get := func(name string) (string, bool) { return kafka.TopicConfigs{Entries: entries}.Get(name) }
	var list []Notice
	b := cfg.Budget
	if ms, ok := number(get("transaction.max.timeout.ms")); ok {
		b.BrokerMaxTimeout = time.Duration(ms) * time.Millisecond
	}
	if err := b.Check(); err != nil {
		list = append(list, Notice{Refuse, err.Error()})
	}
	if v, _ := get("transaction.partition.verification.enable"); v == "false" {
		list = append(list, Notice{Refuse, "transaction.partition.verification.enable is off: a late record of a dead transaction would be accepted"})
	}
	want := cfg.OffsetsRetention
	if want == 0 {
		want = 7 * 24 * time.Hour
	}
	if minutes, ok := number(get("offsets.retention.minutes")); ok {
		have := time.Duration(minutes) * time.Minute
		switch {
		case have < want:
			list = append(list, Notice{Refuse, fmt.Sprintf("offsets.retention.minutes keeps lanes for %v, the sinks count on %v", have, want)})
		case have < 10*cfg.Budget.TransactionTimeout:
			list = append(list, Notice{Warn, fmt.Sprintf("offsets.retention.minutes keeps lanes for %v only: a job that stands still longer must ask the second witness", have)})
		}
	}
	if v, _ := get(kafka.ConfigUncleanElection); v == "true" {
		list = append(list, Notice{Warn, "unclean leader election is on: an election may remove end markers and records"})
	}
	return list
}

// AuditTopic judges an output topic: can a salvage still read what was aborted?
func AuditTopic(t kafka.TopicConfigs, horizon time.Duration) []Notice {
	if t.Code != kafka.OK {
		return []Notice{{Warn, fmt.Sprintf("topic %s: its settings are not to be seen: %v", t.Topic, t.Code)}}
	}
	var list []Notice
	warn := func(format string, args ...any) {
		list = append(list, Notice{Warn, fmt.Sprintf("topic "+t.Topic+": "+format, args...)})
	}
	policy, _ := t.Get(kafka.ConfigCleanupPolicy)
	if ms, ok := number(t.Get(kafka.ConfigRetentionMs)); ok && ms >= 0 && strings.Contains(policy, "delete") {
		if have := time.Duration(ms) * time.Millisecond; have < horizon {
			warn("retention.ms %v is below the salvage horizon %v: aborted records may be gone before they are saved, and records with old event times before they are committed", have, horizon)
		}
	}
	if bytes, ok := number(t.Get(kafka.ConfigRetentionBytes)); ok && bytes >= 0 {
		warn("retention.bytes %d may delete aborted records before they are saved", bytes)
	}
	if ms, ok := number(t.Get(kafka.ConfigMinCompactionLagMs)); strings.Contains(policy, "compact") && (!ok || time.Duration(ms)*time.Millisecond < horizon) {
		warn("compacted, and min.compaction.lag.ms %v is below the salvage horizon %v: the cleaner takes aborted records first", time.Duration(ms)*time.Millisecond, horizon)
	}
	if t.LogAppendTime() {
		list = append(list, Notice{Note, "topic " + t.Topic + ": LogAppendTime: a salvaged record gets a new timestamp"})
	}
	if n, ok := number(t.Get(kafka.ConfigMinInsyncReplicas)); ok && n < 2 {
		warn("min.insync.replicas is %d: an acknowledged record may be on one broker only", n)
	}
	if v, _ := t.Get(kafka.ConfigUncleanElection); v == "true" {
		list = append(list, Notice{Refuse, "topic " + t.Topic + ": unclean.leader.election.enable is on: an election may remove end markers and records that are confirmed"})
	}
	return list
}

// offsetsTopic is where brokers keep the offsets of groups, and with them the lanes.
const offsetsTopic = "__consumer_offsets"

// AuditOffsets judges the topic of the lanes. It takes the brokers' unclean.leader.election.enable, unlike __transaction_state, for
// which brokers turn it off: a lane could then go back to the value before a transaction that is committed, and tell that
// it is not. Where the topic is not there yet, it will have what the brokers have.
func AuditOffsets(t kafka.TopicConfigs, broker []kafka.ConfigEntry) []Notice {
	switch t.Code {
	case kafka.OK:
	case kafka.UnknownTopicOrPartition:
		t.Entries = broker
	default:
		return []Notice{{Warn, fmt.Sprintf("topic %s: its settings are not to be seen: %v", offsetsTopic, t.Code)}}
	}
	if v, _ := t.Get(kafka.ConfigUncleanElection); v == "true" {
		return []Notice{{Refuse, "topic " + offsetsTopic + ": unclean.leader.election.enable is on: an election may take lanes back to what they told before a commit"}}
	}
	return nil
}

func number(v string, ok bool) (int64, bool) {
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil
}
