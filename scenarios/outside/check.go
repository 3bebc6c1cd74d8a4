package outside

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/faults"
)

// Refusal is a line of a plan that cannot be done from outside.
type Refusal struct {
	Line    int    // of the file, from 1
	Text    string // of the line
	Why     string
	Instead string
}

func (r Refusal) Error() string {
	s := fmt.Sprintf("line %d, %q: %s", r.Line, r.Text, r.Why)
	if r.Instead != "" {
		s += "\n  instead: " + r.Instead
	}
	return s
}

// Read parses a plan file and checks that all of it can be done from outside on such brokers. Its errors are
// faults.SyntaxErrors and Refusals, of which it returns the first.
func Read(text string, b Brokers) (faults.Plan, Setup, error) {
	p, err := faults.Parse(text)
	if err != nil {
		return p, Setup{}, err
	}
	c := checker{plan: &p, lines: strings.Split(text, "\n"), brokers: b}
	s, err := c.check()
	return p, s, err
}

type checker struct {
	plan    *faults.Plan
	lines   []string
	brokers Brokers
	setup   Setup
}

// refuse names the n-th line that begins with one of the words.
func (c *checker) refuse(n int, words []string, why, instead string) error {
	for i, l := range c.lines {
		if f := strings.Fields(l); len(f) > 0 && slices.Contains(words, f[0]) {
			if n--; n < 0 {
				return Refusal{Line: i + 1, Text: strings.TrimSpace(l), Why: why, Instead: instead}
			}
		}
	}
	return Refusal{Text: words[0], Why: why, Instead: instead}
}

func (c *checker) header(word, why, instead string) error {
	return c.refuse(0, []string{word}, why, instead)
}

func (c *checker) check() (Setup, error) {
	p := c.plan
	if _, ok := scenarios[p.Scenario]; !ok {
		return c.setup, c.header("scenario", fmt.Sprintf("scenario %s prepares its world from inside", p.Scenario), "scenario payments, fraud, ledger, copy, at-least-once or at-most-once")
	}
	if !slices.Contains(engineNames(), p.Engine) {
		return c.setup, c.header("engine", fmt.Sprintf("engine %s cannot be told from a sound one by what is in a topic after a kill", p.Engine), "engine "+strings.Join(engineNames(), ", "))
	}
	for _, w := range p.World {
		if world[w.Key] == unknown {
			return c.setup, c.header("world", fmt.Sprintf("%s=%s shapes a world that is not there", w.Key, w.Value), "leave it out")
		}
	}
	var err error
	if c.setup, err = setup(p); err != nil {
		return c.setup, c.header("world", err.Error(), "")
	}
	if c.setup.TaskManagers < c.setup.Processes {
		return c.setup, c.header("world", fmt.Sprintf("%d taskmanagers do not fill %d processes (each has a JobManager)", c.setup.TaskManagers, c.setup.Processes), fmt.Sprintf("taskmanagers=%d", c.setup.Processes))
	}
	for i := range p.Faults {
		if why, instead := c.fault(&p.Faults[i]); why != "" {
			return c.setup, c.refuse(i, []string{"at", "on"}, why, instead)
		}
	}
	return c.setup, nil
}

func (c *checker) fault(f *faults.Fault) (why, instead string) {
	k := kinds[f.Kind]
	if k.how == "" {
		return fmt.Sprintf("%s cannot be done from outside: %s", f.Kind, k.why), k.instead
	}
	if h := f.Trigger.Hook.String(); f.Trigger.OnHook && slices.Contains(brokerHooks, h) {
		return fmt.Sprintf("hook %s is passed inside of a broker, where nobody outside sees it", h), "on k9 (the commit was sent) or k13 (it was answered)"
	}
	if why, instead := c.target(f.Node); why != "" {
		return why, instead
	}
	switch f.Kind {
	case faults.PartitionFault, faults.OneWayFault, faults.SlowLinkFault:
		return c.link(f)
	case faults.TimeoutFault:
		if isBroker(f.Node) {
			return "a broker holds no commit back", "transaction-timeout processes"
		}
	case faults.CrashFault:
		if c.brokers == Kfake && (isBroker(f.Node) || f.Node == faults.All) {
			return "kfake forgets its producers when it is killed, which no real broker does: the verdict would be about kfake", "--kafka-jars DIR, for real brokers"
		}
	}
	return "", ""
}

// target refuses what is no process of the operating system.
func (c *checker) target(name string) (why, instead string) {
	switch {
	case strings.HasPrefix(name, "tm"), strings.HasPrefix(name, "jm"):
		return fmt.Sprintf("%s is a part of a process here, which has a JobManager and TaskManagers in it", name), "process1 (jm1 with its share of the TaskManagers), processes, or self (whoever passed the hook)"
	case strings.HasPrefix(name, "process"):
		if n := number(name, "process"); name != faults.Processes && (n < 1 || n > c.setup.Processes) {
			return fmt.Sprintf("there is no %s: jobmanagers=%d makes as many processes", name, c.setup.Processes), "process1"
		}
	case strings.HasPrefix(name, "broker"):
		n := number(name, "broker")
		if name != faults.Brokers && (n < 0 || n >= c.setup.Brokers) {
			return fmt.Sprintf("there is no %s: brokers=%d begin at broker0", name, c.setup.Brokers), "broker0"
		}
		if c.brokers == Kfake && n > 0 {
			return "kfake is one broker", "broker0, leader, or --kafka-jars DIR for real brokers"
		}
	}
	return "", ""
}

// link refuses what no proxy stands between.
func (c *checker) link(f *faults.Fault) (why, instead string) {
	if why, instead := c.target(f.Peer); why != "" {
		return why, instead
	}
	switch a, b := isBroker(f.Node), isBroker(f.Peer); {
	case f.Node == faults.All || f.Peer == faults.All:
		return "only links between processes and brokers can be struck", f.Kind.String() + " processes brokers"
	case a && b:
		return "the links between brokers are their own", "pause " + f.Node + ", or crash it"
	case !a && !b:
		return "the processes do not talk to each other: they share the state directory", f.Kind.String() + " " + f.Node + " brokers"
	}
	return "", ""
}

func isBroker(name string) bool {
	return strings.HasPrefix(name, "broker") || name == faults.Leader || name == faults.Coordinator
}

// number is what follows the prefix of a name; -1 when it is no number.
func number(name, prefix string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, prefix))
	if err != nil {
		return -1
	}
	return n
}
