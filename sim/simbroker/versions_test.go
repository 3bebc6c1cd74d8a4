package simbroker

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// versionsFile is what real brokers answered to ApiVersions: a line per request, a column per release.
const versionsFile = "testdata/versions.txt"

const versionsHead = `# What releases of Apache Kafka offer: lowest and highest version of each request, as their brokers answer to ApiVersions.
# The last lines are features: the levels that a release supports, and the one of a new cluster.
#
# Renew a column (another release adds one):
#   KAFKA_VERSION=4.4.0 ONEFOLD_KAFKA=$(KAFKA_VERSION=4.4.0 .ci/kafka start) go test -run TestRecordVersions ./sim/simbroker
`

// featureRows are the features that the model knows.
var featureRows = []string{transactionFeature, eligibleFeature}

// versionTable is the file: by row, then by release.
type versionTable struct {
	releases []string
	rows     []string
	at       map[string]map[string]string
}

func readVersions(t *testing.T) *versionTable {
	t.Helper()
	v := &versionTable{at: map[string]map[string]string{}}
	text, err := os.ReadFile(versionsFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "request":
			v.releases = f[1:]
		default:
			for i, r := range v.releases {
				v.set(f[0], r, f[i+1])
			}
		}
	}
	return v
}

func (v *versionTable) set(row, release, value string) {
	if v.at[row] == nil {
		v.at[row] = map[string]string{}
		v.rows = append(v.rows, row)
	}
	v.at[row][release] = value
}

func (v *versionTable) get(row, release string) string {
	if value := v.at[row][release]; value != "" {
		return value
	}
	return "-"
}

func (v *versionTable) String() string {
	key := func(row string) int {
		n, err := strconv.Atoi(strings.SplitN(row, ":", 2)[0])
		if err != nil {
			return 1 << 20
		}
		return n
	}
	sort.Strings(v.releases)
	sort.Slice(v.rows, func(i, j int) bool { return key(v.rows[i]) < key(v.rows[j]) })
	var b strings.Builder
	b.WriteString(versionsHead)
	fmt.Fprintf(&b, "%-32s", "request")
	for _, r := range v.releases {
		fmt.Fprintf(&b, " %6s", r)
	}
	b.WriteString("\n")
	for _, row := range v.rows {
		fmt.Fprintf(&b, "%-32s", row)
		for _, r := range v.releases {
			fmt.Fprintf(&b, " %6s", v.get(row, r))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func rowOf(key int16) string { return fmt.Sprintf("%d:%s", key, kmsg.NameForKey(key)) }

// TestRecordVersions writes the column of a real broker; without one there is nothing to record.
func TestRecordVersions(t *testing.T) {
	addresses, release := os.Getenv("ONEFOLD_KAFKA"), os.Getenv("KAFKA_VERSION")
	if !strings.Contains(addresses, ":") || release == "" {
		return
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addresses, ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, cl)
	if err != nil {
		t.Fatal(err)
	}
	v := readVersions(t)
	known := false
	for _, r := range v.releases {
		known = known || r == release
	}
	if !known {
		v.releases = append(v.releases, release)
	}
	for _, k := range resp.ApiKeys {
		v.set(rowOf(k.ApiKey), release, fmt.Sprintf("%d-%d", k.MinVersion, k.MaxVersion))
	}
	for _, f := range resp.SupportedFeatures {
		if slices.Contains(featureRows, f.Name) {
			level := int16(0)
			for _, x := range resp.FinalizedFeatures {
				if x.Name == f.Name {
					level = x.MaxVersionLevel
				}
			}
			v.set(f.Name, release, fmt.Sprintf("%d-%d,%d", f.MinVersion, f.MaxVersion, level))
		}
	}
	if err := os.WriteFile(versionsFile, []byte(v.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Every release offers what real brokers of it offer, of the requests that the model serves.
func TestVersionsOffered(t *testing.T) {
	v := readVersions(t)
	for _, r := range releases {
		p, _ := ProfileOf(r.name)
		served := 0
		for _, k := range p.offers() {
			served++
			equal(t, r.name+" "+rowOf(k.ApiKey), fmt.Sprintf("%d-%d", k.MinVersion, k.MaxVersion), v.get(rowOf(k.ApiKey), r.version))
		}
		if served < 25 {
			t.Errorf("%s offers %d requests: are its brokers recorded as %s?", r.name, served, r.version)
		}
		want := map[string]string{transactionFeature: "-", eligibleFeature: "-"}
		if p.HasTransactionVersion {
			want[transactionFeature] = fmt.Sprintf("0-2,%d", p.TransactionVersion)
		}
		if p.HasELR {
			want[eligibleFeature] = map[bool]string{false: "0-1,0", true: "0-1,1"}[p.ELR]
		}
		for _, f := range featureRows {
			equal(t, r.name+" "+f, v.get(f, r.version), want[f])
		}
	}
}
