package kafkatest

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/engine/real/embedded"
)

// Image is what ONEFOLD_KAFKA=docker runs.
const Image = "apache/kafka:4.4.0"

// inContainer starts a container with one broker for this test.
//
// The broker calls itself at its inter-broker listener, for transactions too, so it has one that is reachable inside, beside the
// one that is advertised on this machine. The port is chosen here, below those that the system gives to clients.
func inContainer(t testing.TB) []string {
	t.Helper()
	port, err := embedded.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	// Its reaper is an image of its own; what a killed test leaves behind is removed by .ci/docker clean.
	t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	if os.Getenv("TESTCONTAINERS_HOST_OVERRIDE") == "" {
		t.Setenv("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	inner, err := network.ParsePort("9092/tcp")
	if err != nil {
		t.Fatal(err)
	}
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: testcontainers.ContainerRequest{
			Image:        Image,
			ExposedPorts: []string{"9092/tcp"},
			Env: map[string]string{
				"KAFKA_NODE_ID":                                  "1",
				"KAFKA_PROCESS_ROLES":                            "broker,controller",
				"KAFKA_CONTROLLER_QUORUM_VOTERS":                 "1@localhost:9093",
				"KAFKA_CONTROLLER_LISTENER_NAMES":                "CONTROLLER",
				"KAFKA_LISTENERS":                                "PLAINTEXT://:9092,INSIDE://:9094,CONTROLLER://:9093",
				"KAFKA_ADVERTISED_LISTENERS":                     "PLAINTEXT://" + address + ",INSIDE://localhost:9094",
				"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":           "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
				"KAFKA_INTER_BROKER_LISTENER_NAME":               "INSIDE",
				"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":         "1",
				"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":             "5",
				"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
				"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":            "1",
				"KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS":     "5",
				"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS":         "0",
				"KAFKA_AUTO_CREATE_TOPICS_ENABLE":                "false",
				// So that the conformance suite can wait for it.
				"KAFKA_TRANSACTIONAL_ID_EXPIRATION_MS":                             "15000",
				"KAFKA_TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS": "500",
			},
			HostConfigModifier: func(h *container.HostConfig) {
				h.PortBindings = network.PortMap{inner: []network.PortBinding{{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(port)}}}
			},
		},
		Started: true,
	})
	if c != nil {
		t.Cleanup(func() {
			if err := c.Terminate(context.Background()); err != nil {
				t.Errorf("remove the container: %v", err)
			}
		})
	}
	if err != nil {
		t.Fatalf("ONEFOLD_KAFKA=docker: %v", err)
	}
	answers(ctx, t, address)
	return []string{address}
}

// answers waits until the broker does: an open port says little, since a proxy listens on it first.
func answers(ctx context.Context, t testing.TB, address string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for cl.Ping(ctx) != nil {
		if ctx.Err() != nil {
			t.Fatalf("ONEFOLD_KAFKA=docker: no answer at %s", address)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
