package reports

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Merge sums up the campaigns of several scenarios that ran one after the other. One campaign stays as it is.
func Merge(all []*Campaign) *Campaign {
	if len(all) == 1 {
		return all[0]
	}
	m := &Campaign{
		Verdicts: map[string]int{}, Coverage: map[string]map[string]int{}, HitNothing: map[string]int{}, NeverFired: map[string]int{},
		Requests: map[string]map[string]int{}, Impossible: map[string]string{}, Probes: map[string]int{},
	}
	hash := fnv.New64a()
	var names []string
	var entries uint64
	for i, c := range all {
		if i == 0 {
			m.From, m.Build, m.Engine = c.From, c.Build, c.Engine
		}
		names = append(names, c.Scenario)
		m.Seeds += c.Seeds
		m.Seconds += c.Seconds
		m.VirtualSeconds += c.VirtualSeconds
		m.Cancelled = m.Cancelled || c.Cancelled
		entries += c.EntriesPerSeed * uint64(c.Seeds)
		m.Compared.Records += c.Compared.Records
		m.Compared.Epochs += c.Compared.Epochs
		m.Compared.Transactions += c.Compared.Transactions
		m.Compared.Operations += c.Compared.Operations
		add(m.Verdicts, c.Verdicts)
		add(m.HitNothing, c.HitNothing)
		add(m.NeverFired, c.NeverFired)
		add(m.Probes, c.Probes)
		addRows(m.Coverage, c.Coverage)
		addRows(m.Requests, c.Requests)
		for k, v := range c.Impossible {
			m.Impossible[k] = v
		}
		m.Failures = append(m.Failures, c.Failures...)
		for _, v := range c.Vacuous {
			m.Vacuous = append(m.Vacuous, strings.TrimSpace(c.Scenario+" "+c.Profile)+": "+v)
		}
		fmt.Fprintf(hash, "%s%s %s\n", c.Scenario, c.Profile, c.TraceHash)
		m.Parts = append(m.Parts, Part{c.Scenario, c.Profile, c.Seeds, c.Verdicts, c.Seconds, c.TraceHash})
	}
	slices.Sort(names)
	m.Scenario = strings.Join(slices.Compact(names), " ")
	m.TraceHash = fmt.Sprintf("%016x", hash.Sum64())
	if m.Seeds > 0 {
		m.EntriesPerSeed = entries / uint64(m.Seeds)
	}
	m.Finish(time.Duration(m.Seconds*float64(time.Second)), time.Duration(m.VirtualSeconds*float64(time.Second)))
	return m
}

func add(to, from map[string]int) {
	for k, v := range from {
		to[k] += v
	}
}

func addRows(to, from map[string]map[string]int) {
	for k, row := range from {
		if to[k] == nil {
			to[k] = map[string]int{}
		}
		add(to[k], row)
	}
}
