package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/onefold/onefold/engine/real/embedded"
	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/scenarios/jobs"
)

// place is where a job's data is: the flags that all commands share.
type place struct {
	brokers string
	state   string
	topics  []string // LOGICAL=NAME
	secure  run.Security
}

func (p *place) flags(f *pflag.FlagSet) {
	f.StringVar(&p.brokers, "brokers", "embedded", "HOST:PORT,... of the cluster, or embedded: a Kafka inside this process, its data under --state")
	f.StringVar(&p.state, "state", "", "directory of the job's checkpoints and log (made if missing)")
	f.StringArrayVar(&p.topics, "topic", nil, "`LOGICAL=NAME`: the cluster's name of one of the job's topics (repeat)")
	p.secure.Add(f)
}

// names maps the job's own names of topics to the cluster's.
func (p *place) names(job jobs.Spec) (map[string]string, error) {
	known := map[string]string{}
	for _, t := range slices.Concat(job.Inputs, job.Outputs) {
		known[t] = t
	}
	for _, t := range p.topics {
		logical, name, ok := strings.Cut(t, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--topic %q: not of the form LOGICAL=NAME", t)
		}
		if _, ok := known[logical]; !ok {
			return nil, fmt.Errorf("--topic %q: job %s has no topic %q; it has %s", t, job.Name, logical,
				strings.Join(slices.Concat(job.Inputs, job.Outputs), ", "))
		}
		if known[logical] != logical && known[logical] != name {
			return nil, fmt.Errorf("--topic %q: %s is named %s already", t, logical, known[logical])
		}
		known[logical] = name
	}
	return known, nil
}

// cluster is where a Kafka is, and how it lets one in.
type cluster struct {
	brokers []string
	tls     *tls.Config
	sasl    sasl.Mechanism
}

// open returns the cluster. An embedded Kafka runs until shut is called.
func (p *place) open() (k cluster, shut func(), err error) {
	if p.brokers != "embedded" {
		k.brokers = strings.Split(p.brokers, ",")
		k.tls, k.sasl, err = p.secure.Config()
		return k, func() {}, err
	}
	if p.state == "" {
		return k, nil, errors.New("the embedded Kafka keeps its data under --state DIR: name a directory, or a cluster with --brokers HOST:PORT")
	}
	b, err := embedded.Start(run.KafkaDirectory(p.state), "")
	if err != nil {
		return k, nil, err
	}
	return cluster{brokers: []string{b.Address}}, b.Close, nil
}

// there refuses a state directory that does not exist, for commands that only read: opening an embedded Kafka makes its own.
func (p *place) there() error {
	if p.brokers != "embedded" || p.state == "" {
		return nil
	}
	if _, err := os.Stat(p.state); err != nil {
		return fmt.Errorf("no job has run with --state %s: %w; a cluster is named with --brokers HOST:PORT", p.state, err)
	}
	return nil
}

// witness is franz-go's whole client: another implementation of Kafka's protocol than the engine's.
func (k cluster) witness(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	all := []kgo.Opt{kgo.SeedBrokers(k.brokers...), kgo.ClientID("realrun")}
	if k.tls != nil {
		all = append(all, kgo.DialTLSConfig(k.tls))
	}
	if k.sasl != nil {
		all = append(all, kgo.SASL(k.sasl))
	}
	cl, err := kgo.NewClient(append(all, opts...)...)
	if err != nil {
		return nil, err
	}
	if err := ping(ctx, cl); err != nil {
		cl.Close()
		return nil, noKafka(k.brokers, err, "is it running, and do --tls and --sasl fit it? `realrun broker --data DIR` starts one")
	}
	return cl, nil
}

// noKafka says where nothing answers, and what to do about it.
func noKafka(brokers []string, err error, what string) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("no Kafka answers at %s: %w\n  %s", strings.Join(brokers, ","), err, what)
}

// ping asks for an answer. A broker that was started in the line before may take a moment until it listens; one that does not let
// us in will not change its mind.
func ping(ctx context.Context, cl *kgo.Client) error {
	asked, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		if err := cl.Ping(asked); err == nil || asked.Err() != nil || refused(err) || time.Now().After(end) {
			return err
		}
	}
}

// refused reports whether a broker listens and does not let us in, or whether we do not trust it.
func refused(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedSaslMechanism) || errors.As(err, &untrusted)
}

// ensureTopics makes the topics that are missing. It reports those that exist with another number of partitions.
func ensureTopics(ctx context.Context, c *console, cl *kgo.Client, names []string, partitions int32) error {
	admin := kadm.NewClient(cl)
	made, err := admin.CreateTopics(ctx, partitions, -1, nil, names...)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	for _, t := range made.Sorted() {
		switch {
		case t.Err == nil:
			c.say("made topic %s with %d partitions", t.Topic, partitions)
		case errors.Is(t.Err, kerr.TopicAlreadyExists):
		default:
			return fmt.Errorf("create topic %s: %w %s", t.Topic, t.Err, t.ErrMessage)
		}
	}
	details, err := admin.ListTopics(ctx, names...)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, d := range details.Sorted() {
		if n := int32(len(d.Partitions)); d.Err == nil && n != partitions {
			c.say("topic %s exists with %d partitions, not %d; it is used as it is", d.Topic, n, partitions)
		}
	}
	return nil
}
