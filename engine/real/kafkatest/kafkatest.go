// Package kafkatest chooses, in one place, the Kafka that tests talk to.
//
//	ONEFOLD_KAFKA unset       an embedded kfake, new for each test
//	ONEFOLD_KAFKA=HOST:PORT   that cluster (several with commas)
//	ONEFOLD_KAFKA=docker      a container of apache/kafka, new for each test
//
// A backend that was asked for and is not there fails the test; nothing is skipped.
package kafkatest

import (
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Backend is the kind of Kafka in use.
type Backend string

// The backends.
const (
	Kfake  Backend = "kfake"
	Kafka  Backend = "kafka"
	Docker Backend = "docker"
)

// Which tells the backend that is asked for.
func Which() Backend {
	switch os.Getenv("ONEFOLD_KAFKA") {
	case "", "kfake":
		return Kfake
	case "docker":
		return Docker
	}
	return Kafka
}

// Brokers returns bootstrap addresses of the Kafka that is asked for.
func Brokers(t testing.TB) []string {
	t.Helper()
	switch Which() {
	case Kfake:
		return Embedded(t).ListenAddrs()
	case Docker:
		return inContainer(t)
	}
	return strings.Split(os.Getenv("ONEFOLD_KAFKA"), ",")
}

// Embedded starts a kfake of three brokers for this test, whatever is asked for.
func Embedded(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3)}, opts...)...)
	if err != nil {
		t.Fatalf("kfake: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}
