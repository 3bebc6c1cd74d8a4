package scenarios

import (
	"runtime/debug"
	"testing"
	"time"
)

// BenchmarkPayments runs the payments world of the README: 60 virtual seconds, 6,000 records, all checks on, one seed after
// the other on one core.
func BenchmarkPayments(b *testing.B) { benchmarkSeeds(b, Options{}) }

// BenchmarkPaymentsFast is the same without the expensive checks.
func BenchmarkPaymentsFast(b *testing.B) { benchmarkSeeds(b, Options{Fast: true}) }

func benchmarkSeeds(b *testing.B, o Options) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as simrun does
	s, _ := Find("payments")
	var virtual time.Duration
	var entries uint64
	for i := 0; b.Loop(); i++ {
		p, err := PlanOf(s, uint64(i+1), "")
		if err != nil {
			b.Fatal(err)
		}
		r, err := Run(p, o)
		if err != nil {
			b.Fatal(err)
		}
		virtual += r.Virtual
		entries += r.Entries
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "seeds/s")
	b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual/real")
}
