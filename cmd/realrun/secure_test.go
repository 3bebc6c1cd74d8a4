package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/engine/real/embedded"
	"github.com/onefold/onefold/engine/real/kafkatest"
	"github.com/onefold/onefold/engine/real/localkafka"
)

// signed writes a certificate, once as clients trust it and once with its key, as a broker has it.
func signed(t *testing.T) (ca, store string) {
	t.Helper()
	c := kafkatest.Certificate(t)
	private, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
	ca, store = filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "broker.pem")
	for file, content := range map[string][]byte{
		ca:    certificate,
		store: append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), certificate...),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return ca, store
}

// secureKafka is a real broker with a listener of its own for those who come by TLS and say who they are: ann by PLAIN, bob by
// SCRAM.
func secureKafka(t *testing.T) (address, ca string) {
	t.Helper()
	version := os.Getenv("KAFKA_VERSION")
	if version == "" {
		version = "4.4.0"
	}
	if os.Getenv("ONEFOLD_LOCAL_KAFKA") == "" {
		t.Skip("starts a real broker: ONEFOLD_LOCAL_KAFKA=1, after KAFKA_VERSION=" + version + " .ci/kafka fetch")
	}
	jars, err := localkafka.Jars(version)
	if err != nil {
		t.Fatal(err)
	}
	port, err := embedded.FreePort() // of the plain listener; the controller and the secure one come behind it
	if err != nil {
		t.Fatal(err)
	}
	ca, store := signed(t)
	address = fmt.Sprintf("127.0.0.1:%d", port+2)
	plain := fmt.Sprintf("CLIENT://127.0.0.1:%d", port)
	const module = "org.apache.kafka.common.security."
	k, err := localkafka.Start(t.Context(), localkafka.Config{Jars: jars, Port: port, Settings: []string{
		fmt.Sprintf("listeners=%s,CONTROL://127.0.0.1:%d,SECURE://%s", plain, port+1, address),
		fmt.Sprintf("advertised.listeners=%s,SECURE://%s", plain, address),
		"listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROL:PLAINTEXT,SECURE:SASL_SSL",
		"listener.name.secure.ssl.keystore.type=PEM", "listener.name.secure.ssl.keystore.location=" + store,
		"listener.name.secure.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		"listener.name.secure.plain.sasl.jaas.config=" + module + `plain.PlainLoginModule required user_ann="secret";`,
		"listener.name.secure.scram-sha-256.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
		"listener.name.secure.scram-sha-512.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	cl, err := cluster{brokers: k.Bootstrap()}.witness(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	scram(t, cl)
	return address, ca
}

// scram gives bob his password.
func scram(t *testing.T, cl *kgo.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, m := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} { // a request may name a user once
		made, err := kadm.NewClient(cl).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: "bob", Mechanism: m, Iterations: 4096, Password: "secret"}})
		if err == nil {
			err = made.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A job runs and is verified on a real broker that speaks TLS only and asks who is there; whoever is not let in is told so, and
// what to look at. If this failed, the flags would work on a broker of tests only.
func TestSecureKafka(t *testing.T) {
	address, ca := secureKafka(t)
	do := func(want int, args string) string {
		t.Helper()
		var out, errOut strings.Builder
		code := execute(strings.Fields(args+" --brokers "+address), &out, &errOut)
		if code != want {
			t.Errorf("%s: exit code %d, want %d: %s%s", args, code, want, out.String(), errOut.String())
		}
		return out.String() + errOut.String()
	}
	as := func(user, password string) {
		t.Setenv("ONEFOLD_SASL_USER", user)
		t.Setenv("ONEFOLD_SASL_PASSWORD", password)
	}
	for _, c := range []struct{ user, method string }{{"ann", "plain"}, {"bob", "scram-sha-256"}, {"bob", "scram-sha-512"}} {
		as(c.user, "secret")
		let := fmt.Sprintf(" --tls-ca %s --sasl %s --topic payments=payments-%s --topic totals=totals-%s", ca, c.method, c.method, c.method)
		state := " --state " + t.TempDir()
		said := do(0, "generate payments --records 3000 --partitions 2"+let)
		if !strings.Contains(said, let) {
			t.Errorf("%s is not repeated in: %s", let, said)
		}
		do(0, "run payments --bounded --interval 500ms"+state+let)
		if said := do(0, "verify payments"+state+let); !strings.Contains(said, "CLEAN") || !strings.Contains(said, "3000 records compared") {
			t.Errorf("%s: %s", c.method, said)
		}
	}

	state := " --state " + t.TempDir()
	for _, c := range []struct{ user, password, command, want string }{
		{"bob", "wrong", "verify payments --sasl scram-sha-256 --tls-ca " + ca, "SASL_AUTHENTICATION_FAILED"},
		{"bob", "secret", "verify payments --sasl plain --tls-ca " + ca, "SASL_AUTHENTICATION_FAILED"},
		{"ann", "secret", "verify payments --sasl plain --tls", "unknown authority"},
		{"ann", "secret", "verify payments --sasl plain", "do --tls and --sasl fit it?"},
		{"ann", "secret", "topic x --tls-ca " + ca, "is SASL missing?"},
		{"bob", "wrong", "run payments --wait-topics 1s --sasl scram-sha-512 --tls-ca " + ca + state, "SASL_AUTHENTICATION_FAILED"},
		{"ann", "secret", "run payments --wait-topics 1s --sasl plain --tls" + state, "unknown authority"},
	} {
		as(c.user, c.password)
		if said := do(2, c.command); !strings.Contains(said, c.want) || !strings.Contains(said, "do --tls and --sasl fit it?") {
			t.Errorf("%s: %q is not in: %s", c.command, c.want, said)
		}
	}
}
