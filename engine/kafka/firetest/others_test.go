package firetest_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/real/localkafka"
	"github.com/onefold/onefold/engine/real/realstage"
)

// codecs are those of Kafka, by the names that other clients use.
var codecs = []struct {
	name string
	is   kafka.Compression
}{{"none", kafka.NoCompression}, {"gzip", kafka.Gzip}, {"snappy", kafka.Snappy}, {"lz4", kafka.LZ4}, {"zstd", kafka.Zstd}}

// others are a broker of this machine and other people's clients for it.
type others struct {
	t    *testing.T
	ctx  context.Context
	addr string
	jars string
	b    *realstage.Backend
}

// What we write must be Kafka's format and not only ours, and the other way round: kcat (librdkafka, C) and the console tools
// of Kafka itself (Java) read what our producer wrote in every codec, with aborted transactions in between, and we read theirs.
func TestOtherClientsReadOursAndWeTheirs(t *testing.T) {
	jars := localJars(t, "4.4.0")
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Fatal("kcat is missing: apt-get install kcat")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	c, err := localkafka.Start(ctx, localkafka.Config{Jars: jars, Port: 20470})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := realstage.New("kafka 4.4.0", c.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	o := &others{t, ctx, c.Bootstrap()[0], jars, b}
	var topic string
	var want []string
	o.stage(1, func(s *stage.T) { topic, want = writeEveryCodec(s) })
	t.Run("kcat reads ours", func(t *testing.T) {
		got := o.run(nil, "kcat", "-b", o.addr, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q",
			"-X", "isolation.level=read_committed", "-X", "check.crcs=true", "-f", "%k|%h|%s\n")
		compare(t, got, want)
	})
	t.Run("the console consumer reads ours", func(t *testing.T) {
		got := o.java(nil, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", o.addr, "--topic", topic,
			"--partition", "0", "--offset", "earliest", "--isolation-level", "read_committed", "--max-messages", fmt.Sprint(len(want)),
			"--timeout-ms", "60000", "--formatter-property", "print.key=true", "--formatter-property", "print.headers=true",
			"--formatter-property", "key.separator=|", "--formatter-property", "headers.separator=,")
		var swapped []string
		for _, line := range want { // it prints headers:…|key|value
			key, rest, _ := strings.Cut(line, "|")
			headers, value, _ := strings.Cut(rest, "|")
			swapped = append(swapped, strings.ReplaceAll(headers, "=", ":")+"|"+key+"|"+value)
		}
		compare(t, got, swapped)
	})
	t.Run("we read kcat's", func(t *testing.T) {
		o.weRead(t, 100, "kcat", func(codec, topic string, input []byte) {
			o.run(input, "kcat", "-b", o.addr, "-P", "-t", topic, "-p", "0", "-z", codec, "-K", "|")
		})
	})
	t.Run("we read the console producer's", func(t *testing.T) {
		o.weRead(t, 200, "java", func(codec, topic string, input []byte) {
			o.java(input, "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", o.addr, "--topic", topic,
				"--compression-codec", codec, "--reader-property", "parse.key=true", "--reader-property", "key.separator=|")
		})
	})
}

func (o *others) stage(number int, fn func(s *stage.T)) {
	o.t.Helper()
	if err := stage.Run(o.b, number, fn); err != nil {
		o.t.Fatal(err)
	}
}

// run runs a command and returns the lines that it prints.
func (o *others) run(input []byte, name string, args ...string) []string {
	o.t.Helper()
	cmd := exec.CommandContext(o.ctx, name, args...)
	var out, trouble bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &trouble
	if err := cmd.Run(); err != nil {
		o.t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &trouble)
	}
	text := strings.TrimSuffix(out.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (o *others) java(input []byte, class string, args ...string) []string {
	o.t.Helper()
	flags := []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"}
	return o.run(input, "java", append(append(flags, "-cp", filepath.Join(o.jars, "*"), class), args...)...)
}

// value is a text that compresses, and is longer than one batch of a small producer is.
func value(what string, i int) string {
	return fmt.Sprintf("%s %d %s", what, i, strings.Repeat("all work and no play ", 20))
}

// writeEveryCodec writes, for every codec, a transaction that is committed, one that is aborted, and one that is committed.
// It returns what is committed as KEY|HEADERS|VALUE.
func writeEveryCodec(s *stage.T) (topic string, want []string) {
	topic = s.Topic(1, kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "-1"})
	tp := stage.Part(topic, 0)
	for _, codec := range codecs {
		for _, end := range []string{"committed", "aborted", "committed too"} {
			who := s.Writer()
			p := s.NewProducer(kafka.ProducerConfig{Identity: who, BatchBytes: 2000, Linger: -1, Compression: codec.is})
			for i := range 20 {
				v := value(codec.name+" "+end, i)
				headers := kafka.AppendHeaders(nil, []kafka.Header{{Key: "codec", Value: []byte(codec.name)}, {Key: "n", Value: fmt.Append(nil, i)}})
				err := p.Append(topic, 0, fmt.Appendf(nil, "k%d", i), []byte(v), headers, 1_700_000_000_000)
				s.Check(err == nil, "append: %v", err)
				if end != "aborted" {
					want = append(want, fmt.Sprintf("k%d|codec=%s,n=%d|%s", i, codec.name, i, v))
				}
			}
			var err error
			s.Do(func(done func()) { p.Flush(func(e error) { err = e; done() }) })
			s.Check(err == nil, "flush: %v", err)
			s.Finish(who, end != "aborted", tp)
		}
	}
	return topic, want
}

// weRead has another client write in every codec, and reads it with a Fetcher.
func (o *others) weRead(t *testing.T, number int, client string, write func(codec, topic string, input []byte)) {
	var wait sync.WaitGroup
	for i, codec := range codecs {
		var topic string
		o.stage(number+i, func(s *stage.T) { topic = s.Topic(1) })
		var input strings.Builder
		var want []string
		for n := range 200 {
			v := value(client+" "+codec.name, n)
			fmt.Fprintf(&input, "k%d|%s\n", n, v)
			want = append(want, fmt.Sprintf("%d:%s", n, v))
		}
		wait.Go(func() {
			write(codec.name, topic, []byte(input.String()))
			var got []string
			packed := map[kafka.Compression]int{}
			err := stage.Run(o.b, number+50+i, func(s *stage.T) {
				tp := stage.Part(topic, 0)
				for it := kafka.ReadBatches(s.Log(tp)); it.Next(); {
					packed[it.Batch.Compression]++
				}
				got = s.Drain(tp, 0, s.Offset(tp, kafka.Latest, kafka.ReadCommitted))
			})
			if err != nil {
				t.Errorf("%s: %v", codec.name, err)
			}
			if packed[codec.is] == 0 || len(packed) != 1 {
				t.Errorf("%s: batches by codec %v", codec.name, packed)
			}
			compare(t, got, want)
		})
	}
	wait.Wait()
}

// compare compares lists of lines.
func compare(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		t.Logf("%d records", len(want))
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%d lines, not %d; line %d differs:\n%s\n%s", len(got), len(want), i, at(got, i), at(want, i))
			return
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(none)"
}
