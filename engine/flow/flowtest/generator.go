// Package flowtest has a source that makes its records itself and a sink that counts, for tests and benchmarks of
// jobs without Kafka.
package flowtest

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
)

// Topic is the topic of generated records.
const Topic = "generated"

// Generator is a source factory. A record is a function of its partition and offset, so every replay reads the same.
type Generator struct {
	Partitions int32
	Records    int64 // per partition; 0: without end
	// Fill appends key and value of a record to k and v and returns them with the event time. Nil: Pair.
	Fill func(partition int32, offset int64, k, v []byte) (key, value []byte, timestamp int64)
}

// Pair makes a value of two big endian uint64: a key below 10,000 and an amount from 1 to 100.
func Pair(partition int32, offset int64, k, v []byte) (key, value []byte, timestamp int64) {
	h := (uint64(offset)<<8 | uint64(partition)) * 0x9E3779B97F4A7C15
	h ^= h >> 29
	v = binary.BigEndian.AppendUint64(v, h%10_000)
	v = binary.BigEndian.AppendUint64(v, 1+h>>32%100)
	return k, v, offset
}

// New implements graph.SourceFactory.
func (g Generator) New() operator.Source {
	if g.Fill == nil {
		g.Fill = Pair
	}
	return &generated{g: g}
}

// Enumerator implements graph.SourceFactory.
func (g Generator) Enumerator() operator.Enumerator { return enumerator{g} }

// Splits are all splits at their starts.
func (g Generator) Splits() []operator.Split {
	var all []operator.Split
	for p := range g.Partitions {
		stop := int64(-1)
		if g.Records > 0 {
			stop = g.Records
		}
		all = append(all, operator.Split{Topic: Topic, Partition: p, Stop: stop})
	}
	return all
}

type enumerator struct{ g Generator }

func (e enumerator) Discover(loop env.Loop, _ *proc.Process, known []operator.Split, done func([]operator.Split, error)) {
	all := e.g.Splits()
	for _, k := range known {
		i := slices.IndexFunc(all, func(s operator.Split) bool { return s.Topic == k.Topic && s.Partition == k.Partition })
		if i < 0 {
			loop.Post(func() { done(nil, fmt.Errorf("partition %s/%d is gone", k.Topic, k.Partition)) })
			return
		}
		all[i] = k
	}
	loop.Post(func() { done(all, nil) })
}

// generated implements operator.Source.
type generated struct {
	g      Generator
	splits []operator.Split
	next   int
	record operator.Record
	key    []byte
	value  []byte
}

func (s *generated) Open(ctx operator.Context, splits []operator.Split, opened func(error)) {
	s.splits = slices.Clone(splits)
	ctx.Loop.Post(func() { opened(nil) })
}

func (s *generated) Poll(budget int, emit func(*operator.Record) error) (operator.Status, error) {
	used := 0
	for n := 0; n < budget; {
		if used == len(s.splits) {
			return operator.Ended, nil
		}
		p := &s.splits[s.next]
		if p.Stop >= 0 && p.Position >= p.Stop {
			used++
			s.turn()
			continue
		}
		used = 0
		s.key, s.value, s.record.Timestamp = s.g.Fill(p.Partition, p.Position, s.key[:0], s.value[:0])
		s.record.Key, s.record.Value = s.key, s.value
		s.record.Topic, s.record.Partition, s.record.Offset = p.Topic, p.Partition, p.Position
		if err := emit(&s.record); err != nil {
			return operator.More, err
		}
		p.Position++
		n++
		s.turn()
	}
	return operator.More, nil
}

func (s *generated) turn() {
	if s.next++; s.next == len(s.splits) {
		s.next = 0
	}
}

func (s *generated) Snapshot(id.Checkpoint) []operator.Split {
	out := slices.Clone(s.splits)
	slices.SortStableFunc(out, func(a, b operator.Split) int { return int(a.Partition) - int(b.Partition) })
	return out
}

func (s *generated) Completed(id.Checkpoint) {}
func (s *generated) Close()                  {}
