package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/faults"
)

// targetWorld has three nodes that can be struck and one that cannot.
func targetWorld() (*World, faults.Target) {
	w := New(Options{Seed: 1})
	for _, name := range []string{"jm1", "tm1", "broker1", "client"} {
		w.NewNode(name, nil).Start()
	}
	return w, w.Target()
}

// If this failed, a plan would not find its nodes.
func TestTargetListsNodesByRole(t *testing.T) {
	_, target := targetWorld()
	if got := fmt.Sprint(target.Nodes()); got != "[{jm1 1} {tm1 0} {broker1 2}]" {
		t.Fatal(got)
	}
}

// If this failed, a fault would count as struck that met nothing.
func TestTargetTellsWhatItMet(t *testing.T) {
	w, target := targetWorld()
	for _, c := range []struct {
		a    faults.Action
		want bool
	}{
		{faults.Action{Op: faults.Crash, Node: "tm1"}, true},
		{faults.Action{Op: faults.Crash, Node: "tm1"}, false},
		{faults.Action{Op: faults.Pause, Node: "tm1"}, false},
		{faults.Action{Op: faults.Restart, Node: "tm1"}, true},
		{faults.Action{Op: faults.Restart, Node: "tm1"}, false},
		{faults.Action{Op: faults.Resume, Node: "tm1"}, false},
		{faults.Action{Op: faults.Pause, Node: "tm1"}, true},
		{faults.Action{Op: faults.Resume, Node: "tm1"}, true},
		{faults.Action{Op: faults.Crash, Node: "nobody"}, false},
		{faults.Action{Op: faults.Cut, Node: "tm1", Peer: "nobody"}, false},
		{faults.Action{Op: faults.LoseReply, Node: "tm1", Request: "NoSuchRequest", Count: 1}, false},
		{faults.Action{Op: faults.MoveCoordinator, Node: "broker1"}, false}, // there is no cluster on this world
		{faults.Action{Op: faults.BlobSlow, Node: "tm1"}, false},            // and no store
		{faults.Action{Op: faults.JumpClock, Node: "tm1", Delay: time.Hour}, true},
	} {
		if got := target.Do(c.a); got != c.want {
			t.Errorf("%s: met something %v, want %v", c.a, got, c.want)
		}
	}
	if d := w.Node("tm1").Process().Wall().Sub(w.Wall()); d != time.Hour {
		t.Errorf("the wall clock is %v ahead", d)
	}
}

// If this failed, one join would leave a way cut that several faults had cut; the nemesis joins once.
func TestJoinEndsAllCutsOfAWay(t *testing.T) {
	w, target := targetWorld()
	cut := faults.Action{Op: faults.Cut, Node: "tm1", Peer: "jm1"}
	target.Do(cut)
	target.Do(cut)
	target.Do(faults.Action{Op: faults.SlowLink, Node: "tm1", Peer: "jm1", Delay: time.Hour})
	target.Do(faults.Action{Op: faults.Join, Node: "tm1", Peer: "jm1"})
	if way := w.Node("tm1").wayTo(w.Node("jm1")); way.isCut() || len(way.slow) != 1 {
		t.Fatalf("%+v", way)
	}
	target.Do(faults.Action{Op: faults.SlowLink, Node: "tm1", Peer: "jm1"})
	if way := w.Node("tm1").wayTo(w.Node("jm1")); len(way.slow) != 0 {
		t.Fatalf("%+v", way)
	}
}

// If this failed, requests would be struck that no fault names, or too many, or not all.
func TestRequestFaultsStrikeWhatTheyName(t *testing.T) {
	w, target := targetWorld()
	hits := 0
	hit := func() { hits++ }
	const endTxn, produce = 26, 0
	target.Do(faults.Action{Op: faults.LoseReply, Node: "tm1", Request: "EndTxn", Count: 2, Hit: hit})
	target.Do(faults.Action{Op: faults.RepeatRequest, Request: "Produce", Count: 1, Hit: hit})
	target.Do(faults.Action{Op: faults.LateReply, Node: "jm1", Request: "any", Count: 1, Delay: time.Second, Hit: hit})
	var got []string
	for _, ask := range []struct {
		node string
		key  int16
	}{{"tm2", endTxn}, {"tm1", produce}, {"tm1", produce}, {"tm1", endTxn}, {"tm1", endTxn}, {"tm1", endTxn}, {"jm1", 3}, {"jm1", 3}} {
		e, _ := w.Intercept(ask.node, ask.key)
		got = append(got, [...]string{"-", "lose-request", "lose-reply", "late", "late", "repeat"}[e])
	}
	if s := strings.Join(got, " "); s != "- repeat - lose-reply lose-reply - late -" || hits != 4 {
		t.Fatalf("%s, %d hits", s, hits)
	}
	target.Do(faults.Action{Op: faults.LoseRequest, Node: "tm1", Request: "EndTxn", Count: 2})
	target.Do(faults.Action{Op: faults.Calm})
	if e, _ := w.Intercept("tm1", endTxn); e != NoEffect {
		t.Fatal("not calmed")
	}
}

// If this failed, a request of a dead process could be made to arrive by a fault that strikes it.
func TestRequestsOfTheDeadAreNotStruck(t *testing.T) {
	w, target := targetWorld()
	target.Do(faults.Action{Op: faults.LoseReply, Node: "tm1", Request: "any", Count: 5})
	n := w.Node("tm1")
	var got []Effect
	ask := func() {
		e, _ := w.Intercept("tm1", 0)
		got = append(got, e)
	}
	n.NewLoop("l").Post(func() {
		ask()
		n.Pause(0)
		ask()
		n.Resume()
		ask()
		n.Crash()
		ask()
	})
	w.RunFor(time.Second)
	if want := []Effect{LoseReply, NoEffect, LoseReply, NoEffect}; !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
}

// If this failed, a slow operator would be as fast as the others.
func TestSlowNodesAreSlowAndSaySo(t *testing.T) {
	w, target := targetWorld()
	hits, ran := 0, 0
	target.Do(faults.Action{Op: faults.SlowNode, Node: "tm1", Factor: 1000, Hit: func() { hits++ }})
	l := w.Node("tm1").NewLoop("l")
	for range 1000 {
		l.Post(func() { ran++ })
	}
	w.RunFor(100 * time.Millisecond)
	if ran > 100 || ran == 0 || hits != ran {
		t.Fatalf("%d ran, %d hits", ran, hits)
	}
	target.Do(faults.Action{Op: faults.SlowNode, Node: "tm1", Factor: 1})
	w.RunFor(100 * time.Millisecond)
	if ran != 1000 || hits > 101 {
		t.Fatalf("%d ran, %d hits", ran, hits)
	}
}

// If this failed, a plan written as text would not strike a simulated world.
func TestANemesisStrikesAWorld(t *testing.T) {
	w := New(Options{Seed: 1})
	var life []string
	for _, name := range []string{"jm1", "tm1"} {
		w.NewNode(name, func(p *proc.Process) {
			l := p.NewLoop("l")
			life = append(life, fmt.Sprint(name, " starts at ", time.Duration(w.Now()).Round(time.Second)))
			l.OnClose(func() { life = append(life, fmt.Sprint(name, " ends at ", time.Duration(w.Now()).Round(time.Second))) })
		}).Start()
	}
	plan, err := faults.Parse("onefold plan 1\nscenario toy\nseed 1\nengine sound\nexpect CLEAN\nat 2s crash tm1 for 3s\n")
	if err != nil {
		t.Fatal(err)
	}
	nemesis, err := faults.NewNemesis(plan, w.Target())
	if err != nil {
		t.Fatal(err)
	}
	nemesis.Arm()
	w.Run(env.Instant(10 * time.Second))
	if got := strings.Join(life, ", "); got != "jm1 starts at 0s, tm1 starts at 0s, tm1 ends at 2s, tm1 starts at 5s" && got != "tm1 starts at 0s, jm1 starts at 0s, tm1 ends at 2s, tm1 starts at 5s" {
		t.Fatal(got)
	}
	if out := nemesis.Outcomes(); !out[0].Fired {
		t.Fatalf("%+v", out)
	}
}

// A fault on a request that the world does not know would meet nothing for ever, in every campaign.
func TestEveryRequestOfTheSwarmIsKnown(t *testing.T) {
	_, target := targetWorld()
	for _, name := range faults.Requests {
		if !target.Do(faults.Action{Op: faults.LoseReply, Node: "tm1", Request: name, Count: 1}) {
			t.Errorf("request %s is not known", name)
		}
	}
	if target.Do(faults.Action{Op: faults.LoseReply, Node: "tm1", Request: "EndTransaction", Count: 1}) {
		t.Errorf("a request that does not exist was struck")
	}
}
