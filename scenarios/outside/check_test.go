package outside

import (
	"errors"
	"strings"
	"testing"

	"github.com/onefold/onefold/faults"
)

const head = "# c\nonefold plan 1\nscenario payments\nworld taskmanagers=4 jobmanagers=2 brokers=3\n"

// What cannot be done from outside must be refused with its line and a way out, not left out silently.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		text    string
		brokers Brokers
		line    int
		want    string
	}{
		{"onefold plan 1\nscenario fraud-golden\n", Kafka, 2, "prepares its world"},
		{head + "engine side-effect\n", Kafka, 5, "engine sound, at-least-once"},
		{"onefold plan 1\nscenario payments\nworld retention=5s\n", Kafka, 3, "leave it out"},
		{"onefold plan 1\nscenario payments\nworld burn=soon\n", Kafka, 3, "a duration above zero"},
		{"onefold plan 1\nscenario payments\nworld taskmanagers=1 jobmanagers=2\n", Kafka, 3, "taskmanagers=2"},
		{head + "\nat 1s crash process1 for 1s\non k9 lose-reply EndTxn all for 1\n", Kafka, 7, "instead: partition-one-way"},
		{head + "at 1s clock-jump process1 by 1h\n", Kafka, 5, "simrun repro"},
		{head + "on k11 crash process1 for 1s\n", Kafka, 5, "inside of a broker"},
		{head + "at 1s crash tm1 for 1s\n", Kafka, 5, "process1 (jm1"},
		{head + "at 1s crash process3 for 1s\n", Kafka, 5, "jobmanagers=2"},
		{head + "at 1s crash broker3 for 1s\n", Kafka, 5, "begin at broker0"},
		{head + "at 1s partition process1 all for 1s\n", Kafka, 5, "partition processes brokers"},
		{head + "at 1s partition broker0 broker1 for 1s\n", Kafka, 5, "links between brokers"},
		{head + "at 1s partition process1 process2 for 1s\n", Kafka, 5, "state directory"},
		{head + "at 1s partition process1 tm1 for 1s\n", Kafka, 5, "process1 (jm1"},
		{head + "at 1s transaction-timeout leader for 1s\n", Kafka, 5, "transaction-timeout processes"},
		{head + "at 1s crash coordinator for 1s\n", Kfake, 5, "--kafka-jars DIR"},
		{head + "at 1s crash all for 1s\n", Kfake, 5, "--kafka-jars DIR"},
		{head + "at 1s pause broker1 for 1s\n", Kfake, 5, "kfake is one broker"},
	} {
		_, _, err := Read(c.text, c.brokers)
		var r Refusal
		if !errors.As(err, &r) || r.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want line %d, %q", c.text, err, c.line, c.want)
		}
	}
}

// What can be done must not be refused.
func TestAccepted(t *testing.T) {
	for _, f := range []string{
		"crash process1 for 1s", "crash processes for 1s", "crash all for 1s", "crash leader for 1s", "crash broker2 for 1s",
		"pause self for 1s", "pause brokers for 1s", "partition process2 brokers for 1s", "partition-one-way coordinator process1 for 1s",
		"slow-link processes broker0 by 100ms for 1s", "transaction-timeout processes for 60s",
	} {
		if _, s, err := Read(head+"on k9 checkpoint=2 "+f+"\n", Kafka); err != nil || s.Processes != 2 || s.TaskManagers != 4 {
			t.Errorf("%s: %+v %v", f, s, err)
		}
	}
	_, _, err := Read(head+"at 1s explode tm1 for 1s\n", Kafka)
	var at *faults.SyntaxError
	if !errors.As(err, &at) || at.Line != 5 {
		t.Errorf("%v: want a syntax error", err)
	}
}

// Every kind is either done or refused with a reason and a way out.
func TestEveryKindIsDecided(t *testing.T) {
	for k := range faults.KindCount {
		x := kinds[k]
		if (x.how == "") != (x.why != "" && x.instead != "") {
			t.Errorf("%s: done by %q, refused because %q, instead %q", k, x.how, x.why, x.instead)
		}
	}
}

// A kept plan says what it shows, prints as it stands in its file, and can be done.
func TestKeptPlans(t *testing.T) {
	plans := Plans()
	if len(plans) < 10 {
		t.Fatalf("%d plans", len(plans))
	}
	for _, p := range plans {
		plan, s, err := Read(p.Text, Kafka)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if len(plan.Comment) != 1 || !strings.HasSuffix(plan.Comment[0], ".") || len(plan.Expect) != 1 || len(plan.Faults) == 0 {
			t.Errorf("%s: want one sentence, one verdict, and a fault", p.Name)
		}
		if plan.String() != p.Text {
			t.Errorf("%s prints as\n%s", p.Name, plan)
		}
		if s.Records < 1000 || s.Burn <= 0 {
			t.Errorf("%s: %+v", p.Name, s)
		}
	}
}
