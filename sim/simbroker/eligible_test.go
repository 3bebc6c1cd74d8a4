package simbroker

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// heldRig is three brokers with a topic of each kind, all led by broker 0: "two" copies and "three", of which two must be in
// sync, "one" of which one must be, and "any" with unclean elections.
func heldRig(t *testing.T, profile string) *rig {
	r := newRig(t, 1, profile, replicated, func(c *Config) { c.ReplicaLag = time.Minute })
	for _, s := range []TopicSpec{
		{Name: "two", Replication: 2},
		{Name: "three", Replication: 3},
		{Name: "one", Replication: 3, Config: TopicConfig{MinISR: 1}},
		{Name: "any", Replication: 3, Config: TopicConfig{UncleanElection: true}},
	} {
		for len(r.c.topics)%3 != 0 { // the first leader goes round with the number of topics
			r.c.CreateTopic(TopicSpec{Name: fmt.Sprint("filler", len(r.c.topics)), Partitions: 1})
		}
		s.Partitions = 1
		r.c.CreateTopic(s)
		equal(t, "leader of "+s.Name, r.c.Leader(s.Name, 0), 0)
	}
	return r
}

// shown is a partition as DescribeTopicPartitions shows it: leader, ISR, eligible replicas, last leader.
func (r *rig) shown(broker int32, topics ...string) (out string) {
	q := kmsg.NewPtrDescribeTopicPartitionsRequest()
	for _, name := range topics {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = name
		q.Topics = append(q.Topics, rt)
	}
	for _, t := range ask1[*kmsg.DescribeTopicPartitionsResponse](r, broker, q).Topics {
		p := t.Partitions[0]
		out += fmt.Sprintf("%s: %d %v %v %v; ", *t.Topic, p.LeaderID, p.ISR, p.EligibleLeaderReplicas, p.LastKnownELR)
	}
	return out
}

func (r *rig) pause(brokers ...int) {
	for _, b := range brokers {
		r.c.Node(b).Pause(r.w.Now().Add(time.Hour))
		r.w.RunFor(6 * time.Second)
	}
}

func (r *rig) wakeUp(broker int) {
	r.c.Node(broker).Resume()
	r.w.RunFor(4 * time.Second)
}

func (r *rig) crash(brokers ...int) {
	for _, b := range brokers {
		r.c.Node(b).Crash()
		r.w.RunFor(6 * time.Second)
	}
}

func (r *rig) boot(broker int) {
	r.c.Node(broker).Start()
	r.w.RunFor(4 * time.Second)
}

// stopCleanly is a controlled shutdown.
func (r *rig) stopCleanly(brokers ...int) {
	for _, b := range brokers {
		r.c.upgrade(r.c.brokers[b], r.c.ProfileOf(b))
		r.crash(b)
	}
}

// Who leads when brokers go one after the other and come back in another order, as brokers of 4.1.2 and 4.4.0 with eligible
// leader replicas answered, and those of 4.0.2 without them: the first broker is the leader.
func TestElectionsOfEligibleReplicas(t *testing.T) {
	for _, c := range []struct {
		what     string
		do       func(r *rig)
		ask      int32
		elr, old string
	}{
		{
			"2, 1 are held", func(r *rig) { r.pause(2, 1) }, 0,
			"any: 0 [0] [1] []; one: 0 [0] [] []; three: 0 [0] [1] []; two: 0 [0] [1] []; ",
			"any: 0 [0] [] []; one: 0 [0] [] []; three: 0 [0] [] []; two: 0 [0] [] []; ",
		},
		{
			"2, 1, 0 are held, 2 wakes up", func(r *rig) { r.pause(2, 1, 0); r.wakeUp(2) }, 2,
			"any: 2 [2] [] []; one: -1 [] [0] [0]; three: -1 [] [0 1] [0]; two: -1 [] [0 1] [0]; ",
			"any: 2 [2] [] []; one: -1 [0] [] []; three: -1 [0] [] []; two: -1 [0] [] []; ",
		},
		{
			"2, 1, 0 are held, 2, 1 wake up", func(r *rig) { r.pause(2, 1, 0); r.wakeUp(2); r.wakeUp(1) }, 2,
			"any: 2 [1 2] [] []; one: -1 [] [0] [0]; three: 1 [1 2] [] []; two: 1 [1] [0] []; ",
			"any: 2 [1 2] [] []; one: -1 [0] [] []; three: -1 [0] [] []; two: -1 [0] [] []; ",
		},
		{
			"2, 1, 0 die, 2, 1 start", func(r *rig) { r.crash(2, 1, 0); r.boot(2); r.boot(1) }, 2,
			"any: 2 [1 2] [] []; one: -1 [] [0] [0]; three: -1 [] [0] [0]; two: -1 [] [0] [0]; ",
			"any: 2 [1 2] [] []; one: -1 [0] [] []; three: -1 [0] [] []; two: -1 [0] [] []; ",
		},
		{
			"2, 1, 0 die, all start", func(r *rig) { r.crash(2, 1, 0); r.boot(2); r.boot(1); r.boot(0) }, 2,
			"any: 2 [0 1 2] [] []; one: 0 [0 1 2] [] []; three: 0 [0 1 2] [] []; two: 0 [0 1] [] []; ",
			"any: 2 [0 1 2] [] []; one: 0 [0 1 2] [] []; three: 0 [0 1 2] [] []; two: 0 [0 1] [] []; ",
		},
		{
			"2, 1, 0 die, 0 starts", func(r *rig) { r.crash(2, 1, 0); r.boot(0) }, 0,
			"any: 0 [0] [] []; one: 0 [0] [] []; three: -1 [] [1] [0]; two: -1 [] [1] [0]; ",
			"any: 0 [0] [] []; one: 0 [0] [] []; three: 0 [0] [] []; two: 0 [0] [] []; ",
		},
		{
			"2, 1, 0 die, 0, 1 start", func(r *rig) { r.crash(2, 1, 0); r.boot(0); r.boot(1) }, 0,
			"any: 0 [0 1] [] []; one: 0 [0 1] [] []; three: 0 [0 1] [] []; two: 0 [0 1] [] []; ",
			"any: 0 [0 1] [] []; one: 0 [0 1] [] []; three: 0 [0 1] [] []; two: 0 [0 1] [] []; ",
		},
		{
			"1 stops and starts; 2, 1, 0 die, 2, 1 start", func(r *rig) {
				r.stopCleanly(1)
				r.boot(1)
				r.crash(2, 1, 0)
				r.boot(2)
				r.boot(1)
			}, 2,
			"any: 2 [1 2] [] []; one: -1 [] [0] [0]; three: -1 [] [0] [0]; two: -1 [] [0] [0]; ",
			"any: 2 [1 2] [] []; one: -1 [0] [] []; three: -1 [0] [] []; two: -1 [0] [] []; ",
		},
		{
			"2, 1 stop, 0 dies, 1 starts", func(r *rig) { r.stopCleanly(2, 1); r.crash(0); r.boot(1) }, 1,
			"any: 1 [1] [0] []; one: -1 [] [0] [0]; three: 1 [1] [0] []; two: 1 [1] [0] []; ",
			"any: 1 [1] [] []; one: -1 [0] [] []; three: -1 [0] [] []; two: -1 [0] [] []; ",
		},
	} {
		for profile, want := range map[string]string{"k41": c.elr, "k44": c.elr, "k401": c.old} {
			t.Run(profile+" "+c.what, func(t *testing.T) {
				r := heldRig(t, profile)
				c.do(r)
				equal(t, "", r.shown(c.ask, "one", "two", "three", "any"), want)
			})
		}
	}
}

// Who is in sync leads before who is eligible, even if he is waited for until his session ends.
func TestEligibleReplicasWaitForTheISR(t *testing.T) {
	r := heldRig(t, "k44")
	p := r.c.byName["three"].parts[0]
	p.replicas[0].isr, p.replicas[2].isr = false, false
	p.replicas[2].elr = true
	p.lead(-1)
	r.c.Node(1).Pause(r.w.Now().Add(time.Hour))
	equal(t, "elected", p.elect(), false)
	r.w.RunFor(8 * time.Second)
	equal(t, "led by, when nobody is in sync", r.c.Leader("three", 0), 2)
}

// What an eligible replica does not have was never below the high watermark: it is lost without having been visible, and
// what was visible is not.
func TestEligibleReplicaHasAllThatWasVisible(t *testing.T) {
	r := heldRig(t, "k44")
	send := func(acks int16, value string) int16 {
		q := produceReq(11, identity{}, 0, plain(value))
		q.Acks, q.Topics[0].Topic = acks, "two"
		a := r.start(int32(r.c.Leader("two", 0)), q)
		r.wait(a)
		return codeOf(a)
	}
	equal(t, "all have it", send(-1, "kept"), ok)
	r.w.RunFor(time.Second)
	r.pause(1)
	equal(t, "acks=1", send(1, "invisible"), ok)
	equal(t, "acks=-1", send(-1, "refused"), notEnoughReplicas)
	equal(t, "high watermark", r.c.Bounds("two", 0).High, 1)
	r.pause(0)
	r.wakeUp(1)
	equal(t, "led by the eligible one", r.c.Leader("two", 0), 1)
	equal(t, "acks=1", send(1, "other"), ok)
	equal(t, "still held", r.c.Bounds("two", 0).High, 1)
	r.wakeUp(0)
	r.settle()
	var got []string
	for _, l := range r.c.ReadCommitted("two", 0) {
		got = append(got, string(l.Record.Value))
	}
	sameStrings(t, "read", got, "kept", "other")
	equal(t, "nothing that was visible is gone", len(r.c.Truncations()), 0)
}

// What a generator writes is on every replica that may lead: also below the minimum, and while nobody leads.
func TestGeneratorsReachWhoMayLead(t *testing.T) {
	for _, back := range []int{0, 1} {
		for _, dies := range []bool{false, true} {
			r := heldRig(t, "k44")
			r.pause(1)
			r.c.Append("two", 0, []Record{{Value: []byte("below the minimum")}})
			equal(t, "held", r.c.Bounds("two", 0).High, 0)
			if dies {
				r.crash(0)
			} else {
				r.pause(0)
			}
			r.c.Append("two", 0, []Record{{Value: []byte("without a leader")}})
			if back == 1 {
				r.wakeUp(1)
			}
			r.boot(0)
			r.wakeUp(0)
			r.wakeUp(1)
			r.settle()
			equal(t, "records", len(r.c.ReadAll("two", 0)), 2)
		}
	}
}

// Followers that fall behind at the same time leave the ISR together, and are eligible together.
func TestFollowersLeaveTogether(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	f := r.followers(0)
	r.stall(0, f...)
	r.wait(r.send(1, 0, plain("a")))
	r.w.RunFor(4 * time.Second)
	for _, s := range r.c.Replicas("out", 0) {
		equal(t, fmt.Sprint("eligible ", s.Broker), s.Eligible, s.LeadsSince < 0)
	}
	old := r.c.Leader("out", 0)
	r.crash(old)
	equal(t, "the first of them leads", r.c.Leader("out", 0), f[0])
	r.boot(old)
	r.resume(0, f...)
	r.settle()
	sameStrings(t, "what only the old leader had", r.committed(0))
}

// An upgraded cluster keeps the feature as it is, until it is turned on; then it needs brokers that know it.
func TestUpgradedClusterHasNoEligibleReplicas(t *testing.T) {
	r := newRig(t, 1, "k401")
	equal(t, "4.0", r.c.elr, false)
	to, _ := ProfileOf("k44")
	for i := range 3 {
		r.c.SetProfile(i, to)
		r.c.Node(i).Crash()
		r.c.Node(i).Start()
		r.w.RunFor(5 * time.Second)
	}
	features := func() (out string) {
		for _, f := range r.versionsOf(0).FinalizedFeatures {
			out += fmt.Sprintf("%s=%d ", f.Name, f.MaxVersionLevel)
		}
		return out
	}
	equal(t, "upgraded", features(), "transaction.version=2 ")
	equal(t, "turned on", r.c.EnableELR(), true)
	equal(t, "turned on twice", r.c.EnableELR(), false)
	equal(t, "on", features(), "transaction.version=2 eligible.leader.replicas.version=1 ")
	old, _ := ProfileOf("k39")
	equal(t, "a release that does not know it", r.c.SetProfile(0, old), false)
	old, _ = ProfileOf("k401")
	equal(t, "one that does", r.c.SetProfile(0, old), true)

	r = newRig(t, 1, "k39")
	equal(t, "unknown in 3.9", r.c.EnableELR(), false)
}
