package run

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Security is how brokers are spoken to, as flags say it: flags of every program that talks to a cluster.
type Security struct {
	tls    bool
	ca     string
	method string
}

// Add adds the flags.
func (s *Security) Add(f *pflag.FlagSet) {
	f.BoolVar(&s.tls, "tls", false, "speak TLS with the brokers")
	f.StringVar(&s.ca, "tls-ca", "", "`FILE` with the authorities (PEM) that sign the brokers' certificates; implies --tls")
	f.StringVar(&s.method, "sasl", "", "plain, scram-sha-256 or scram-sha-512; user and password come from ONEFOLD_SASL_USER and ONEFOLD_SASL_PASSWORD")
}

// String is the flags as they would be typed, each with a space before it; user and password are not among them.
func (s Security) String() (flags string) {
	switch {
	case s.ca != "":
		flags = " --tls-ca " + s.ca
	case s.tls:
		flags = " --tls"
	}
	if s.method != "" {
		flags += " --sasl " + s.method
	}
	return flags
}

// Config is what the flags say: nil for plain text, and nil for no authentication.
func (s Security) Config() (t *tls.Config, m sasl.Mechanism, err error) {
	if s.tls || s.ca != "" {
		if t, err = tlsConfig(s.ca); err != nil {
			return nil, nil, err
		}
	}
	m, err = mechanism(s.method)
	return t, m, err
}

func tlsConfig(ca string) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca == "" {
		return t, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("--tls-ca: %w", err)
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--tls-ca %s: no certificate in it", ca)
	}
	return t, nil
}

func mechanism(method string) (sasl.Mechanism, error) {
	user, password := os.Getenv("ONEFOLD_SASL_USER"), os.Getenv("ONEFOLD_SASL_PASSWORD")
	if method != "" && user == "" {
		return nil, fmt.Errorf("--sasl %s (one of plain, scram-sha-256, scram-sha-512): set ONEFOLD_SASL_USER and ONEFOLD_SASL_PASSWORD", method)
	}
	switch method {
	case "":
		return nil, nil
	case "plain":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("--sasl %q: plain, scram-sha-256 or scram-sha-512", method)
}
