package hazard

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/real/localkafka"
	"github.com/onefold/onefold/engine/real/realstage"
)

// underControl is a real cluster whose brokers can be killed, as a backend.
type underControl struct {
	*realstage.Mover
	cluster *localkafka.Cluster
	taken   int // the broker that was killed for TakeLeader

	// Of FailTxnLog: the brokers held, the coordinator's log, and its high watermark before.
	held []int
	log  id.TopicPartition
	high int64
}

func (u *underControl) KillBroker(i int) error   { return u.cluster.Kill(i) }
func (u *underControl) StartBroker(i int) error  { return u.start(i) }
func (u *underControl) PauseBroker(i int) error  { return u.cluster.Pause(i) }
func (u *underControl) ResumeBroker(i int) error { return u.cluster.Resume(i) }

// MoveCoordinator implements stage.Mover. A single broker is killed and started again: it loads its log anew.
func (u *underControl) MoveCoordinator(transactionalID string) error {
	if u.cluster.Nodes() > 1 {
		return u.Mover.MoveCoordinator(transactionalID)
	}
	if err := u.cluster.Kill(0); err != nil {
		return err
	}
	return u.start(0)
}

// FailTxnLog implements TxnLogBreaker: it holds all brokers but the coordinator, so that nobody acknowledges what that appends.
// They are the majority of the controllers, too: nobody leaves the ISR meanwhile.
func (u *underControl) FailTxnLog(transactionalID string) error {
	on := -1
	err := stage.Run(u, 902, func(t *stage.T) {
		on = int(t.Find(stage.TxnCoordinator(transactionalID)))
		n := int32(len(t.Describe(txnLog).Partitions))
		u.log = stage.Part(txnLog, kafka.InternalPartition(transactionalID, n))
		u.high = t.Offset(u.log, kafka.Latest, kafka.ReadUncommitted)
	})
	u.held = nil
	for i := range u.cluster.Nodes() {
		if err == nil && i != on {
			u.held = append(u.held, i)
			err = u.cluster.Pause(i)
		}
	}
	return err
}

// HealTxnLog implements TxnLogBreaker. What was given up has been acknowledged when it returns.
func (u *underControl) HealTxnLog() error {
	for _, i := range u.held {
		if err := u.cluster.Resume(i); err != nil {
			return err
		}
	}
	return stage.Run(u, 903, func(t *stage.T) {
		t.Wait("the append to "+u.log.String(), func() bool { return t.Offset(u.log, kafka.Latest, kafka.ReadUncommitted) > u.high })
		t.Wait("replicas in sync", func() bool {
			return len(isr(&Scene{T: t, account: &account{}}, u.log)) == u.cluster.Nodes()
		})
		t.Visible(txnLog, int32(len(t.Describe(txnLog).Partitions)))
	})
}

const txnLog = "__transaction_state"

// WriteAndClose implements Wire.
func (u *underControl) WriteAndClose(node int32, requests []kmsg.Request) error {
	conn, err := net.Dial("tcp", u.cluster.Bootstrap()[node])
	if err != nil {
		return err
	}
	if _, err := conn.Write(frames(requests...)); err != nil {
		return err
	}
	return conn.Close()
}

// frames are requests as they are written.
func frames(requests ...kmsg.Request) (b []byte) {
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("hazards"))
	for i, r := range requests {
		b = append(b, format.AppendRequest(nil, r, int32(i))...) // it begins each at the start of what it is given
	}
	return b
}

// WriteBoth implements Wire.
func (u *underControl) WriteBoth(node int32, first, second kmsg.Request, done func(kmsg.Response, kmsg.Response, error)) {
	go func() {
		a, b, err := u.writeBoth(node, first, second)
		done(a, b, err)
	}()
}

func (u *underControl) writeBoth(node int32, first, second kmsg.Request) (a, b kmsg.Response, err error) {
	conn, err := net.Dial("tcp", u.cluster.Bootstrap()[node])
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	if err = conn.SetDeadline(time.Now().Add(10 * time.Second)); err == nil {
		_, err = conn.Write(frames(first, second))
	}
	if err == nil {
		a, err = answer(conn, first)
	}
	if err == nil {
		b, err = answer(conn, second)
	}
	return a, b, err
}

// answer reads the answer to a request.
func answer(conn net.Conn, to kmsg.Request) (kmsg.Response, error) {
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, frame); err != nil {
		return nil, err
	}
	frame = frame[4:] // the number of the request
	resp := to.ResponseKind()
	if resp.IsFlexible() {
		frame = frame[1:] // no tags
	}
	return resp, resp.ReadFrom(frame)
}

// TakeLeader implements Leaderless: it kills the broker that leads the partition, of which it must hold the only replica.
func (u *underControl) TakeLeader(tp id.TopicPartition) error {
	if u.cluster.Nodes() == 1 {
		return errors.New("its only broker would be gone")
	}
	on := -1
	err := stage.Run(u, 900, func(t *stage.T) { on = int(t.Find(stage.Leader(tp))) })
	if err == nil {
		err = u.cluster.Kill(on)
	}
	u.taken = on
	if err != nil {
		return err
	}
	// It counts as gone when the controller says so.
	return stage.Run(u, 901, func(t *stage.T) {
		s := &Scene{T: t, account: &account{}}
		leaderless(s, tp)
	})
}

// GiveLeader implements Leaderless.
func (u *underControl) GiveLeader(id.TopicPartition) error {
	return u.start(u.taken)
}

func (u *underControl) start(i int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return u.cluster.Start(ctx, i)
}

// startCluster starts brokers of the release under test.
func startCluster(t *testing.T, version string, nodes int, settings []Setting) *underControl {
	t.Helper()
	jars, err := localkafka.Jars(version)
	if err != nil {
		t.Fatal(err)
	}
	config := localkafka.Config{Jars: jars, Nodes: nodes, Port: port(t) + 10*nodes, Settings: []string{
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=200", "log.retention.ms=-1",
	}}
	for _, s := range settings {
		config.Settings = append(config.Settings, s.Key+"="+s.Value)
	}
	if tv := os.Getenv("KAFKA_TXN_VERSION"); tv != "" {
		config.Features = []string{"transaction.version=" + tv}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute) // on a busy machine
	defer cancel()
	c, err := localkafka.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	b, err := realstage.NewMover("kafka "+label(version), c.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	b.Limit(10 * time.Minute)
	return &underControl{Mover: b, cluster: c}
}

// port is the first of a hundred that the clusters may use.
func port(t *testing.T) int {
	text := os.Getenv("KAFKA_PORT")
	if text == "" {
		return 19692
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KAFKA_PORT=%s: a number is wanted", text)
	}
	return n
}

// label names what is under test as the catalogue does: the release, and its transaction version where it is not its own.
func label(version string) string {
	if tv := os.Getenv("KAFKA_TXN_VERSION"); tv != "" && tv != "2" {
		return version + " TV" + tv
	}
	return version
}

// releasesAre says which profile stands for a release.
var releasesAre = [...]struct{ prefix, profile string }{
	{"4.4.", "k44"},
	{"4.3.", "k43"},
	{"4.2.", "k42"},
	{"4.1.", "k41"},
	{"4.0.0", "k400"},
	{"4.0.", "k401"},
	{"3.9.", "k39"},
	{"3.8.", "k39"},
	{"3.7.", "k37"},
	{"3.6.", "k37"},
	{"3.5.", "k35"},
}

// profileOf is the profile that stands for what a label names.
func profileOf(t *testing.T, label string) string {
	version, tv, lower := strings.Cut(label, " TV")
	for _, p := range releasesAre {
		if strings.HasPrefix(version, p.prefix) {
			if lower {
				return p.profile + "-tv" + tv
			}
			return p.profile
		}
	}
	t.Fatalf("no profile stands for Kafka %s", label)
	return ""
}

// What was recorded on real brokers is what the catalogue says, and what the simulated ones show, down to the codes. If this fails,
// the model is not what Kafka is.
func TestRecorded(t *testing.T) {
	if len(recorded) < 150 {
		t.Errorf("%d records", len(recorded))
	}
	for i, r := range recorded {
		h, known := Find(r.Number)
		if !known || r.What == "" {
			t.Errorf("%+v", r)
			continue
		}
		if want := h.Where.Hold(profileOf(t, r.Version)); r.Seen != want {
			t.Errorf("%s on %s: seen %v, and the catalogue says %v", h.Name(), r.Version, r.Seen, want)
		}
		sameSight(t, h, r)
		if i > 0 && (recorded[i-1].Number > r.Number || recorded[i-1].Number == r.Number && recorded[i-1].Version >= r.Version) {
			t.Errorf("%s on %s is out of order", h.Name(), r.Version)
		}
	}
	for i, r := range recordedForms {
		h, _ := Find(r.Number)
		at := slices.IndexFunc(h.Forms, func(f Form) bool { return f.Name == r.Form })
		if at < 0 || r.What == "" {
			t.Errorf("%+v", r)
			continue
		}
		h = h.As(h.Forms[at])
		if want := h.Where.Hold(profileOf(t, r.Version)); r.Seen != want {
			t.Errorf("%s on %s: seen %v, and the catalogue says %v", h.Name(), r.Version, r.Seen, want)
		}
		sameSight(t, h, r.Recorded)
		if i > 0 && cmp.Or(cmp.Compare(recordedForms[i-1].Number, r.Number), strings.Compare(recordedForms[i-1].Form, r.Form), strings.Compare(recordedForms[i-1].Version, r.Version)) >= 0 {
			t.Errorf("%s on %s is out of order", h.Name(), r.Version)
		}
	}
}

// races are the hazards of which real brokers tell a number that is another one each time, and whose it is.
var races = map[int]string{
	43: "how much was written until the cleaner had been there",
	45: "how often the broker had read the second request when the connection closed",
}

// sameSight holds what the script said on real brokers and what it says on the simulated one together, word for word: codes,
// states, epochs and logs are in it.
func sameSight(t *testing.T, h Hazard, r Recorded) {
	t.Helper()
	s, err := Show(h, profileOf(t, r.Version))
	if err != nil {
		t.Error(err)
		return
	}
	simulated, real := unique.ReplaceAllString(s.What, "$1-$2"), r.What
	if races[r.Number] != "" {
		simulated, real = number.ReplaceAllString(simulated, "N"), number.ReplaceAllString(real, "N")
	}
	if simulated != real {
		t.Errorf("%s on %s said\n\t%s\nand on the simulated broker\n\t%s", h.Name(), r.Version, real, simulated)
	}
}

var number = regexp.MustCompile(`\d+`)

// chosen are the hazards named in HAZARDS ("H3 H28"), or all that can be shown on a real broker, with their other forms: those
// take long, and a short run has only what is named ("H28/restart").
func chosen(t *testing.T) (list []Hazard) {
	only := strings.Fields(os.Getenv("HAZARDS"))
	known := map[string]bool{}
	for _, h := range All() {
		all := len(only) == 0 || slices.Contains(only, h.Name())
		known[h.Name()] = h.Real.Feasible
		if h.Real.Feasible && all {
			list = append(list, h)
		}
		for _, f := range h.Forms {
			known[h.As(f).Name()] = true
			if form := h.As(f); all && !testing.Short() || slices.Contains(only, form.Name()) {
				list = append(list, form)
			}
		}
	}
	for _, name := range only {
		if !known[name] {
			t.Fatalf("HAZARDS: there is no %q to be shown on a real broker; the hazards are H1 to H%d, and `simrun hazards` lists them", name, len(All()))
		}
	}
	return list
}

// On real brokers a hazard shows exactly where the catalogue says, as it does on the simulated ones. If this fails, catalogue
// and model are wrong.
//
//	make hazards KAFKA_VERSION=4.4.0
//	make hazards KAFKA_VERSION=4.4.0 KAFKA_TXN_VERSION=1 HAZARDS="H28 H44"
func TestHazardsKafka(t *testing.T) {
	version := os.Getenv("ONEFOLD_HAZARDS")
	if version == "" {
		t.Skip("starts real brokers: make hazards KAFKA_VERSION=4.4.0")
	}
	profile := profileOf(t, label(version))
	for _, c := range clusters(t) {
		t.Run(fmt.Sprintf("brokers=%d", c.nodes), func(t *testing.T) {
			b := startCluster(t, version, c.nodes, c.settings)
			for _, h := range c.hazards {
				t.Run(h.Name(), func(t *testing.T) { showReal(t, b, h, profile) })
				if h.Number == 39 {
					t.Run("H39 of franz-go", func(t *testing.T) { flushOnFenced(t, b.cluster.Bootstrap()) })
				}
			}
		})
	}
}

// clusterOf is a cluster for the hazards that can share one.
type clusterOf struct {
	nodes    int
	settings []Setting
	hazards  []Hazard
}

// clusters share out the hazards chosen: all that need as many brokers, but for those whose settings would disturb others.
func clusters(t *testing.T) []*clusterOf {
	var all []*clusterOf
	for _, h := range chosen(t) {
		nodes := max(1, h.Needs.Brokers)
		i := slices.IndexFunc(all, func(c *clusterOf) bool { return c.nodes == nodes && !h.Needs.Alone })
		if i < 0 {
			i = len(all)
			all = append(all, &clusterOf{nodes: nodes})
			if h.Needs.Alone { // nobody finds it by its number of brokers
				all[i].nodes = -nodes
			}
		}
		all[i].settings = append(all[i].settings, h.Needs.Settings...)
		all[i].hazards = append(all[i].hazards, h)
	}
	for _, c := range all {
		c.nodes = max(c.nodes, -c.nodes)
	}
	return all
}

// ending is how a sight ended, step by step.
func ending(s Sight) string {
	const most = 100
	return strings.Join(s.Account[max(0, len(s.Account)-most):], "\n")
}

// unique is a name as scripts make them, with what differs from run to run in its middle.
var unique = regexp.MustCompile(`\b(topic|txn|group)-[0-9a-f]+-\d+-(\d+)`)

// showReal plays script and cure of a hazard, and prints what was found as recorded.go has it.
func showReal(t *testing.T, b *underControl, h Hazard, profile string) {
	began := time.Now()
	s, err := ShowOn(b, h)
	took := time.Since(began).Round(100 * time.Millisecond)
	if err != nil {
		t.Fatalf("%v\n%s", err, ending(s))
	}
	version, _ := strings.CutPrefix(b.Name(), "kafka ")
	what := fmt.Sprintf("{%d, %q, %v, %q}", h.Number, version, s.Seen, unique.ReplaceAllString(s.What, "$1-$2"))
	if h.form != "" {
		what = fmt.Sprintf("{%q, Recorded%s}", h.form, what)
	}
	fmt.Printf("\t%s, // %s\n", what, took)
	if want := h.Where.Hold(profile); s.Seen != want {
		t.Errorf("shown: %v, and the catalogue says %v: %s\n%s", s.Seen, want, s.What, ending(s))
	}
	if h.Cure == nil || testing.Short() {
		return
	}
	if s, err := CureOn(b, h); err != nil {
		t.Errorf("%v\n%s", err, ending(s))
	}
}
