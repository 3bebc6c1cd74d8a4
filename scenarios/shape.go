package scenarios

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/sim/simbroker"
)

// setting is one key of a plan's world line.
type setting struct {
	key  string
	get  func(*Shape) string
	set  func(*Shape, string) error
	hint string
}

func whole(key string, least, most int, of func(*Shape) *int) setting {
	hint := fmt.Sprintf("a whole number from %d to %d", least, most)
	return setting{
		key: key, hint: hint,
		get: func(s *Shape) string { return strconv.Itoa(*of(s)) },
		set: func(s *Shape, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < least || n > most {
				return fmt.Errorf("want %s", hint)
			}
			*of(s) = n
			return nil
		},
	}
}

func duration(key string, least, most time.Duration, of func(*Shape) *time.Duration) setting {
	hint := fmt.Sprintf("a duration from %v to %v", least, most)
	return setting{
		key: key, hint: hint,
		get: func(s *Shape) string { return of(s).String() },
		set: func(s *Shape, v string) error {
			d, err := time.ParseDuration(v)
			if err != nil || d < least || d > most {
				return fmt.Errorf("want %s", hint)
			}
			*of(s) = d
			return nil
		},
	}
}

func flag(key string, of func(*Shape) *bool) setting {
	const hint = "true or false"
	return setting{
		key: key, hint: hint,
		get: func(s *Shape) string { return strconv.FormatBool(*of(s)) },
		set: func(s *Shape, v string) error {
			b, err := strconv.ParseBool(v)
			if err != nil {
				return fmt.Errorf("want %s", hint)
			}
			*of(s) = b
			return nil
		},
	}
}

func list(key string, of func(*Shape) *[]int64) setting {
	const hint = "whole numbers, not negative, with commas between them"
	return setting{
		key: key, hint: hint,
		get: func(s *Shape) string {
			var texts []string
			for _, n := range *of(s) {
				texts = append(texts, strconv.FormatInt(n, 10))
			}
			return strings.Join(texts, ",")
		},
		set: func(s *Shape, v string) error {
			var numbers []int64
			for _, text := range strings.Split(v, ",") {
				n, err := strconv.ParseInt(text, 10, 64)
				if err != nil || n < 0 {
					return fmt.Errorf("want %s", hint)
				}
				numbers = append(numbers, n)
			}
			*of(s) = numbers
			return nil
		},
	}
}

var settings = []setting{
	whole("taskmanagers", 1, 16, func(s *Shape) *int { return &s.TaskManagers }),
	whole("jobmanagers", 1, 4, func(s *Shape) *int { return &s.JobManagers }),
	whole("brokers", 1, 9, func(s *Shape) *int { return &s.Brokers }),
	whole("replication", 1, 9, func(s *Shape) *int { return &s.Replication }),
	whole("min-isr", 1, 9, func(s *Shape) *int { return &s.MinISR }),
	flag("unclean", func(s *Shape) *bool { return &s.Unclean }),
	whole("slots", 1, 16, func(s *Shape) *int { return &s.Slots }),
	whole("partitions", 1, 64, func(s *Shape) *int { return &s.Partitions }),
	whole("records", 1, 10_000_000, func(s *Shape) *int { return &s.Records }),
	whole("accounts", 1, 1_000_000, func(s *Shape) *int { return &s.Accounts }),
	whole("parallelism", 1, 64, func(s *Shape) *int { return &s.Parallelism }),
	whole("budget", 1, 1024, func(s *Shape) *int { return &s.Budget }),
	whole("log-keep", 0, 1_000_000, func(s *Shape) *int { return &s.LogKeep }),
	duration("burn", time.Second, 24*time.Hour, func(s *Shape) *time.Duration { return &s.Burn }),
	duration("interval", 100*time.Millisecond, time.Hour, func(s *Shape) *time.Duration { return &s.Interval }),
	duration("checkpoint-timeout", 100*time.Millisecond, time.Hour, func(s *Shape) *time.Duration { return &s.CheckpointTimeout }),
	duration("transaction-timeout", time.Second, time.Hour, func(s *Shape) *time.Duration { return &s.TransactionTimeout }),
	duration("scan", 10*time.Millisecond, time.Hour, func(s *Shape) *time.Duration { return &s.Scan }),
	list("offsets", func(s *Shape) *[]int64 { return &s.Offsets }),
	list("rates", func(s *Shape) *[]int64 { return &s.Rates }),
	whole("compact", 0, 1, func(s *Shape) *int { return &s.Compact }),
	whole("append-time", 0, 1, func(s *Shape) *int { return &s.AppendTime }),
	whole("no-rights", 0, 1, func(s *Shape) *int { return &s.NoRights }),
	whole("preloaded", 0, 1_000_000, func(s *Shape) *int { return &s.Preloaded }),
	duration("retention", 0, 24*time.Hour, func(s *Shape) *time.Duration { return &s.Retention }),
	{
		key: "meddle", hint: "ACTION/HOOK/CHECKPOINT, with the actions " + meddleNames(),
		get: func(s *Shape) string { return s.Meddle },
		set: func(s *Shape, v string) error {
			_, err := parseMeddle(v)
			s.Meddle = v
			return err
		},
	},
	whole("max-epoch", 2, 32767, func(s *Shape) *int { return &s.MaxEpoch }),
	duration("id-expiration", 0, 24*time.Hour, func(s *Shape) *time.Duration { return &s.IDExpiration }),
	duration("cost", 0, time.Second, func(s *Shape) *time.Duration { return &s.Cost }),
	{
		key: "profile", hint: "one of " + strings.Join(simbroker.ProfileNames(), ", "),
		get: func(s *Shape) string { return s.Profile },
		set: func(s *Shape, v string) error {
			if _, ok := simbroker.ProfileOf(v); !ok {
				return fmt.Errorf("want one of %s, perhaps with -tv0 or -tv1", strings.Join(simbroker.ProfileNames(), ", "))
			}
			s.Profile = v
			return nil
		},
	},
}

// apply changes a shape by settings; the error names the setting and what it may be.
func (s *Shape) apply(world []faults.Setting) error {
	for _, w := range world {
		known := false
		for _, k := range settings {
			if k.key == w.Key {
				known = true
				if err := k.set(s, w.Value); err != nil {
					return fmt.Errorf("world setting %s=%s: %w", w.Key, w.Value, err)
				}
			}
		}
		if !known {
			return fmt.Errorf("world setting %s=%s: there is no such setting; there are %s", w.Key, w.Value, settingNames())
		}
	}
	if s.TaskManagers*s.Slots < s.Parallelism {
		return fmt.Errorf("world: %d taskmanagers with %d slots are fewer slots than parallelism %d needs", s.TaskManagers, s.Slots, s.Parallelism)
	}
	if s.Replication > s.Brokers || s.MinISR > s.Replication {
		return fmt.Errorf("world: want min-isr <= replication <= brokers; there are min-isr=%d replication=%d brokers=%d", s.MinISR, s.Replication, s.Brokers)
	}
	for _, l := range [...][]int64{s.Offsets, s.Rates} {
		if len(l) != 0 && len(l) != s.Partitions {
			return fmt.Errorf("world: offsets and rates name %d partitions, there are %d", len(l), s.Partitions)
		}
	}
	if s.Preloaded > 0 && len(s.Rates) == 0 {
		return fmt.Errorf("world: a job that has run before needs rates, so that its input goes on")
	}
	return nil
}

// nodes are those of a world of this shape, in the order in which it makes them.
func (s *Shape) nodes() []faults.Node {
	var out []faults.Node
	add := func(n, first int, name string, r faults.Role) {
		for i := range n {
			out = append(out, faults.Node{Name: fmt.Sprintf("%s%d", name, first+i), Role: r})
		}
	}
	add(s.Brokers, 0, "broker", faults.Broker)
	add(s.JobManagers, 1, "jm", faults.JobManager)
	add(s.TaskManagers, 1, "tm", faults.TaskManager)
	return out
}

func settingNames() string {
	names := make([]string, len(settings))
	for i, k := range settings {
		names[i] = k.key
	}
	return strings.Join(names, ", ")
}

// settingsOf are the settings that a plan needs to repeat a world: all that differ from the defaults, and the main ones.
func settingsOf(s Shape) []faults.Setting {
	d := defaultShape()
	var out []faults.Setting
	for _, k := range settings {
		switch k.key {
		case "taskmanagers", "brokers", "partitions", "records", "profile":
		default:
			if k.get(&s) == k.get(&d) {
				continue
			}
		}
		out = append(out, faults.Setting{Key: k.key, Value: k.get(&s)})
	}
	return out
}
