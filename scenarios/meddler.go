package scenarios

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/sim/simbroker"
)

// meddler is somebody outside the job who does something to the cluster once, when the job passes a hook: a colleague with an
// administration tool, retention, another application. It is a setting of a world, written ACTION/HOOK/CHECKPOINT:
//
//	meddle=delete-group/k4/3
type meddler struct {
	w          *World
	action     string
	hook       faults.Hook
	checkpoint uint64

	loop env.Loop
	port broker.Requests
	done bool
}

// meddling says what each action does.
var meddling = []struct {
	name string
	do   func(*meddler)
}{
	// commits an offset plainly on every lane, over what is pending
	{"commit-plainly", (*meddler).commitPlainly},
	// deletes the sinks' groups, with what is pending in them
	{"delete-group", (*meddler).deleteGroup},
	// deletes the offsets of all lanes
	{"delete-offsets", (*meddler).deleteOffsets},
	// deletes the topic of the lanes
	{"delete-markers", (*meddler).deleteMarkers},
	// takes what the output topics hold, as retention does with records whose event times are old
	{"delete-records", (*meddler).deleteRecords},
	// takes the older half of what is undecided in them
	{"delete-some", (*meddler).deleteSome},
	// changes message.timestamp.type of the output topics: whether brokers replace timestamps by their own
	{"restamp", (*meddler).restamp},
	// compacts the output topics once a second from there on
	{"compact", (*meddler).compact},
	// makes the outputs' partitions forget the producers that have nothing open
	{"expire-producers", (*meddler).expireProducers},
	// writes a marker with a coordinator epoch that is too high for every producer of the outputs that has nothing open
	{"foreign-marker", (*meddler).foreignMarker},
	// lets a replica that lags by a moment lead every output partition, uncleanly
	{"elect-unclean", (*meddler).electUnclean},
	// another application writes in transactions of its own from there on, and must be left alone
	{"stranger", (*meddler).stranger},
}

// outsider is the node of a meddler.
const outsider = "outsider"

var errMeddle = errors.New("want ACTION/HOOK/CHECKPOINT")

func meddleNames() string {
	names := make([]string, len(meddling))
	for i, m := range meddling {
		names[i] = m.name
	}
	return strings.Join(names, ", ")
}

// parseMeddle reads the setting.
func parseMeddle(text string) (*meddler, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return nil, errMeddle
	}
	m := &meddler{action: parts[0]}
	var known bool
	for _, k := range meddling {
		known = known || k.name == m.action
	}
	if !known {
		return nil, fmt.Errorf("%w; actions are %s", errMeddle, meddleNames())
	}
	if m.hook, known = faults.ParseHook(parts[1]); !known {
		return nil, fmt.Errorf("%w; there is no hook %q", errMeddle, parts[1])
	}
	n, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w; checkpoint %q is no number", errMeddle, parts[2])
	}
	m.checkpoint = n
	return m, nil
}

// meddle puts the meddler of a world's setting on it, on a node that no fault strikes.
func (w *World) meddle() {
	m, err := parseMeddle(w.Shape.Meddle)
	if err != nil {
		return // none
	}
	m.w = w
	w.Sim.NewNode(outsider, func(p *proc.Process) {
		m.loop = p.NewLoop("meddler")
		m.port = p.Broker(m.loop, broker.Control)
	}).Start()
	w.Sim.OnHook(func(_ string, e hook.Event) {
		if m.done || faults.Hook(e.Point) != m.hook || m.checkpoint != 0 && uint64(e.Checkpoint) != m.checkpoint {
			return
		}
		m.done = true
		m.loop.Post(func() {
			for _, k := range meddling {
				if k.name == m.action {
					k.do(m)
				}
			}
		})
	})
}

// tell notes what was done and how it was answered, among what the JobManagers tell.
func (m *meddler) tell(format string, args ...any) {
	m.w.events = append(m.w.events, fmt.Sprintf("%v outsider: %s: %s", time.Duration(m.w.Sim.Now()), m.action, fmt.Sprintf(format, args...)))
}

// groups calls with each group that is the engine's, and the topic of its lanes.
func (m *meddler) groups(each func(group, markers string, lanes int32)) {
	for i := range m.w.Cluster.Brokers() {
		m.port.Send(int32(i), kmsg.NewPtrListGroupsRequest(), func(r kmsg.Response, err error) {
			if err != nil {
				m.tell("list groups: %v", err)
				return
			}
			for _, g := range r.(*kmsg.ListGroupsResponse).Groups {
				parts := strings.Split(g.Group, ".")
				if len(parts) < 3 || parts[0] != "onefold" {
					continue
				}
				markers := "onefold." + parts[1] + ".markers"
				lanes, _ := m.w.Cluster.Topic(markers)
				each(g.Group, markers, int32(lanes))
			}
		})
	}
}

// send sends to a group's coordinator and tells of the answer.
func (m *meddler) send(group string, req kmsg.Request, code func(kmsg.Response) int16) {
	m.port.Send(int32(m.w.Cluster.GroupCoordinator(group)), req, func(r kmsg.Response, err error) {
		if err != nil {
			m.tell("%s: %v", group, err)
			return
		}
		m.tell("%s: %v", group, kafka.Code(code(r)))
	})
}

func (m *meddler) commitPlainly() {
	m.groups(func(group, markers string, lanes int32) {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation = 8, group, -1
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = markers
		for n := range lanes {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.Metadata = n, 1, kmsg.StringPtr("reset by hand")
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
		m.send(group, req, func(r kmsg.Response) int16 { return r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode })
	})
}

func (m *meddler) deleteGroup() {
	m.groups(func(group, _ string, _ int32) {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Version, req.Groups = 2, []string{group}
		m.send(group, req, func(r kmsg.Response) int16 { return r.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode })
	})
}

func (m *meddler) deleteOffsets() {
	m.groups(func(group, markers string, lanes int32) {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = markers
		for n := range lanes {
			p := kmsg.NewOffsetDeleteRequestTopicPartition()
			p.Partition = n
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
		m.send(group, req, func(r kmsg.Response) int16 { return r.(*kmsg.OffsetDeleteResponse).ErrorCode })
	})
}

func (m *meddler) deleteMarkers() {
	m.groups(func(_, markers string, _ int32) {
		m.tell("%s: %v", markers, m.w.Cluster.DeleteTopic(markers))
	})
}

func (m *meddler) deleteRecords() {
	m.w.look()
	for _, f := range m.w.reader.partitions {
		if f.output {
			high := m.w.Cluster.Bounds(f.name, f.partition).High
			m.w.deleteBelow(f, high)
			m.tell("%s/%d below %d", f.name, f.partition, high)
		}
	}
}

// deleteSome cuts through the ranges of open transactions.
func (m *meddler) deleteSome() {
	m.w.look()
	for _, f := range m.w.reader.partitions {
		if n := len(f.undecided); f.output && n > 1 {
			cut := m.w.History.Records[f.undecided[n/2]].Offset
			m.w.deleteBelow(f, cut)
			m.tell("%s/%d below %d", f.name, f.partition, cut)
		}
	}
}

func (m *meddler) restamp() {
	for _, topic := range m.w.Job.Outputs {
		m.tell("%s: broker's own time %v", topic, m.w.Cluster.SwitchAppendTime(topic))
	}
}

// compact goes on until the burn ends. Where a topic is not compacted it has no effect.
func (m *meddler) compact() {
	if m.w.healed {
		return
	}
	m.w.look()
	for _, f := range m.w.reader.partitions {
		if f.output {
			m.w.Cluster.Roll(f.name, f.partition)
			m.w.Cluster.Compact(f.name, f.partition)
		}
	}
	m.loop.After(time.Second, m.compact)
}

func (m *meddler) expireProducers() {
	for _, f := range m.w.reader.partitions {
		if f.output {
			m.w.Cluster.ExpireProducers(f.name, f.partition, 0)
			m.tell("%s/%d forgets", f.name, f.partition)
		}
	}
}

func (m *meddler) foreignMarker() {
	for _, f := range m.w.reader.partitions {
		if !f.output {
			continue
		}
		leader := int32(m.w.Cluster.Leader(f.name, f.partition))
		req := kmsg.NewPtrDescribeProducersRequest()
		t := kmsg.NewDescribeProducersRequestTopic()
		t.Topic, t.Partitions = f.name, []int32{f.partition}
		req.Topics = append(req.Topics, t)
		m.port.Send(leader, req, func(r kmsg.Response, err error) {
			if err != nil {
				m.tell("%s/%d: %v", f.name, f.partition, err)
				return
			}
			for _, p := range r.(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0].ActiveProducers {
				if p.CurrentTxnStartOffset < 0 && p.CoordinatorEpoch >= 0 {
					m.writeMarker(leader, f, p.ProducerID, int16(p.ProducerEpoch), p.CoordinatorEpoch+1)
				}
			}
		})
	}
}

// writeMarker writes a COMMIT by hand.
func (m *meddler) writeMarker(leader int32, f *followed, pid int64, epoch int16, coordinator int32) {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 1
	x := kmsg.NewWriteTxnMarkersRequestMarker()
	x.ProducerID, x.ProducerEpoch, x.Committed, x.CoordinatorEpoch = pid, epoch, true, coordinator
	t := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	t.Topic, t.Partitions = f.name, []int32{f.partition}
	x.Topics = append(x.Topics, t)
	req.Markers = append(req.Markers, x)
	m.port.Send(leader, req, func(r kmsg.Response, err error) {
		if err != nil {
			m.tell("%s/%d: %v", f.name, f.partition, err)
			return
		}
		code := r.(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions[0].ErrorCode
		m.tell("%s/%d producer %d epoch %d coordinator epoch %d: %v", f.name, f.partition, pid, epoch, coordinator, kafka.Code(code))
	})
}

// electUnclean keeps one follower of each output partition from fetching for a moment, and makes it the leader then: what was
// written meanwhile, end markers too, is gone.
func (m *meddler) electUnclean() {
	for _, f := range m.w.reader.partitions {
		if !f.output {
			continue
		}
		lags := -1
		for _, r := range m.w.Cluster.Replicas(f.name, f.partition) {
			if r.Broker != m.w.Cluster.Leader(f.name, f.partition) {
				lags = r.Broker
			}
		}
		if lags < 0 || !m.w.Cluster.StallReplica(f.name, f.partition, lags) {
			m.tell("%s/%d has one replica only", f.name, f.partition)
			continue
		}
		m.loop.After(30*time.Millisecond, func() { m.w.Cluster.ShrinkISR(f.name, f.partition, lags) })
		m.loop.After(60*time.Millisecond, func() {
			m.w.Cluster.ResumeReplica(f.name, f.partition, lags)
			m.tell("%s/%d led by broker %d: %v", f.name, f.partition, lags, m.w.Cluster.ElectUnclean(f.name, f.partition, lags))
		})
	}
}

// stranger is an application with a transactional id of its own, which commits one transaction a second to a topic of its own
// until the burn ends. Whoever aborts one of them, or takes its id, has no right to.
func (m *meddler) stranger() {
	m.w.Cluster.CreateTopic(simbroker.TopicSpec{Name: strangersTopic, Partitions: 1})
	s := &stranger{m: m, client: kafka.New(kafka.Config{Process: m.w.Sim.Node(outsider).Process(), Loop: m.loop}), protocol: 4}
	if m.w.Cluster.Profile().TransactionVersion == 2 {
		s.protocol = 5
	}
	s.begin()
}

const strangersTopic = "elsewhere"

type stranger struct {
	m         *meddler
	client    *kafka.Client
	protocol  int16
	committed int
}

// begin initialises the id and writes a record.
func (s *stranger) begin() {
	if s.m.w.healed {
		s.m.tell("%d transactions committed", s.committed)
		return
	}
	s.client.InitProducerID("stranger-1", time.Minute, s.protocol, func(who kafka.Identity, code kafka.Code, err error) {
		if err != nil || code != kafka.OK {
			s.m.loop.After(100*time.Millisecond, s.begin)
			return
		}
		p := s.client.NewProducer(kafka.ProducerConfig{Identity: who})
		err = p.Append(strangersTopic, 0, nil, []byte("mine"), nil, s.m.w.Sim.Wall().UnixMilli())
		invariant.Check(err == nil, "a stranger's record: %v", err)
		s.m.loop.After(time.Second, func() {
			p.Flush(func(err error) {
				p.Close()
				s.allowed(err)
				s.end(who)
			})
		})
	})
}

// end commits, until it knows that it has.
func (s *stranger) end(who kafka.Identity) {
	s.client.EndTxn(who, true, func(_ kafka.Identity, code kafka.Code, err error) {
		s.allowed(code.Err())
		if err != nil || code.Class() == kafka.Retry || code.Class() == kafka.FindCoordinator {
			s.m.loop.After(100*time.Millisecond, func() { s.end(who) })
			return
		}
		if code == kafka.OK {
			s.committed++
		}
		s.begin()
	})
}

// allowed fails the run when somebody has taken the id.
func (s *stranger) allowed(err error) {
	taken := errors.Is(err, kafka.InvalidProducerEpoch) || errors.Is(err, kafka.ProducerFenced) || errors.Is(err, kafka.InvalidTxnState)
	invariant.Check(!taken, "a stranger's transaction was ended by somebody who has nothing to do with it: %v", err)
}
