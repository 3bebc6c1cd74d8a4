package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/real/kafkatest"
)

// Over TLS and with SASL requests are answered as they are in the clear, pairs too; a certificate that nobody vouches for
// and a wrong password are known not to have sent anything.
func TestTLSAndSASL(t *testing.T) {
	certificate := kafkatest.Certificate(t)
	trusted := x509.NewCertPool()
	trusted.AddCert(certificate.Leaf)
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}}),
		kfake.EnableSASL(), kfake.Superuser("PLAIN", "ann", "secret"), kfake.Superuser("SCRAM-SHA-256", "bob", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	safe := &tls.Config{RootCAs: trusted}
	bob := scram.Auth{User: "bob", Pass: "secret"}
	for name, c := range map[string]Config{
		"plain": {Bootstrap: fake.ListenAddrs(), TLS: safe, SASL: plain.Auth{User: "ann", Pass: "secret"}.AsMechanism()},
		"scram": {Bootstrap: fake.ListenAddrs(), TLS: safe, SASL: bob.AsSha256Mechanism()},
	} {
		t.Run(name, func(t *testing.T) {
			a := newActor(t, c)
			nodes := a.learn()
			if len(nodes) != 1 {
				t.Fatalf("nodes %v", nodes)
			}
			if r := a.ask(nodes[0], metadata()); r.err != nil {
				t.Errorf("a node by its own address: %v", r.err)
			}
			first, second := kmsg.NewPtrAddPartitionsToTxnRequest(), kmsg.NewPtrEndTxnRequest()
			first.Version, second.Version = 3, 4
			both := make(chan answer, 1)
			a.loop.Post(func() {
				a.ports[broker.Control].SendBoth(nodes[0], first, second, func(_, r kmsg.Response, err error) { both <- answer{r, err} })
			})
			if r := a.wait("a pair", both); r.err != nil {
				t.Errorf("a pair: %v", r.err)
			}
		})
	}
	for name, c := range map[string]Config{
		"unknown authority": {Bootstrap: fake.ListenAddrs(), TLS: &tls.Config{RootCAs: x509.NewCertPool()}, SASL: plain.Auth{User: "ann", Pass: "secret"}.AsMechanism()},
		"wrong password":    {Bootstrap: fake.ListenAddrs(), TLS: safe, SASL: plain.Auth{User: "ann", Pass: "wrong"}.AsMechanism()},
	} {
		t.Run(name, func(t *testing.T) {
			if r := newActor(t, c).ask(broker.Bootstrap, metadata()); !errors.Is(r.err, broker.ErrNotSent) {
				t.Errorf("%v, want not sent", r.err)
			}
		})
	}
}
