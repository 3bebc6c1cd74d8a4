package simbroker

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// VersionRange is what a release offers of one request.
type VersionRange struct{ Key, Min, Max int16 }

// The answers of real brokers to ApiVersions: a line per request, a column per release.
//
//go:embed testdata/versions.txt
var versionsText string

// offered are the ranges of each release that was recorded, by its version.
var offered = parseVersions(versionsText)

// parseVersions reads the table, without the requests that have no handler. It panics at what it cannot read: the table is
// part of the program.
func parseVersions(text string) map[string][]VersionRange {
	all := map[string][]VersionRange{}
	var columns []string
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
			continue
		case f[0] == "request":
			columns = f[1:]
			continue
		}
		number, _, isRequest := strings.Cut(f[0], ":")
		if !isRequest {
			continue // a feature
		}
		key, err := strconv.ParseInt(number, 10, 16)
		if err != nil || len(f) != len(columns)+1 {
			panic("simbroker: versions: " + line)
		}
		for i, cell := range f[1:] {
			if lo, hi, there := strings.Cut(cell, "-"); there && lo != "" {
				least, err1 := strconv.ParseInt(lo, 10, 16)
				most, err2 := strconv.ParseInt(hi, 10, 16)
				if err1 != nil || err2 != nil {
					panic("simbroker: versions: " + line)
				}
				r := VersionRange{Key: int16(key), Min: int16(least), Max: int16(most)}
				all[columns[i]] = append(all[columns[i]], r)
			}
		}
	}
	return all
}

// handled tells whether the model serves a request.
func handled(key int16) bool {
	const fetch = 1 // waits on its connection, and is called apart
	return key == fetch || key >= 0 && int(key) < len(handlers) && handlers[key] != nil
}

// offers is the answer to ApiVersions.
func (p *Profile) offers() []kmsg.ApiVersionsResponseApiKey {
	out := make([]kmsg.ApiVersionsResponseApiKey, 0, len(p.Versions))
	for _, r := range p.Versions {
		if handled(r.Key) {
			out = append(out, kmsg.ApiVersionsResponseApiKey{ApiKey: r.Key, MinVersion: r.Min, MaxVersion: r.Max})
		}
	}
	return out
}

// versions is the range that a release offers of a request; 0 to -1 if it does not have it.
func (p *Profile) versions(key int16) (lo, hi int16) {
	for i := range p.Versions {
		if r := &p.Versions[i]; r.Key == key {
			return r.Min, r.Max
		}
	}
	return 0, -1
}

// Max is the highest version that the release offers of a request; -1 if it does not have it.
func (p *Profile) Max(key int16) int16 {
	_, hi := p.versions(key)
	return hi
}

// Unlike counts the requests of which brokers that offer these ranges have another one than the release.
func (p *Profile) Unlike(offered []VersionRange) (n int) {
	for _, o := range offered {
		if lo, hi := p.versions(o.Key); lo != o.Min || hi != o.Max {
			n++
		}
	}
	for _, r := range p.Versions {
		if !slices.ContainsFunc(offered, func(o VersionRange) bool { return o.Key == r.Key }) {
			n++
		}
	}
	return n
}

// ProfileLike is the profile that is least unlike brokers that offer these ranges, the newest if several are, in a cluster
// with this level of transaction.version.
func ProfileLike(offered []VersionRange, transactionVersion int16) Profile {
	best := Profile{}
	for _, name := range ProfileNames() {
		if p, _ := ProfileOf(name); best.Name == "" || p.Unlike(offered) < best.Unlike(offered) {
			best = p
		}
	}
	if best.TransactionVersion != transactionVersion {
		if p, ok := ProfileOf(fmt.Sprintf("%s-tv%d", best.Name, transactionVersion)); ok {
			return p
		}
	}
	return best
}

// With is the profile with another range of one request.
func (p Profile) With(r VersionRange) Profile {
	versions := append([]VersionRange(nil), p.Versions...)
	for i := range versions {
		if versions[i].Key == r.Key {
			versions[i] = r
		}
	}
	p.Versions = versions
	return p
}
