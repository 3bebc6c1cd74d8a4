package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/operator"
)

// nothing is a factory of what a plan never makes.
type nothing struct{}

func (nothing) New() operator.Source            { return nil }
func (nothing) Enumerator() operator.Enumerator { return nil }

type nowhere struct{}

func (nowhere) New() operator.Sink { return nil }

// build reads a job, one operator per line: "uid kind [parallelism]" or "from > to [hash|rebalance] [port] [nocodec]".
func build(input string) *Job {
	j := NewJob("story")
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		f := strings.Fields(line)
		if len(f) > 2 && f[1] == ">" {
			e := Edge{From: j.Find(id.Operator(f[0])), To: j.Find(id.Operator(f[2])), Shipping: Forward}
			e.Encode = func(*Chain, Writer) any { return nil }
			for _, x := range f[3:] {
				switch x {
				case "hash", "rebalance":
					e.Shipping = Shipping(x)
				case "nocodec":
					e.Encode = nil
				default:
					e.Port, _ = strconv.Atoi(x)
				}
			}
			j.Connect(e)
			continue
		}
		o := Operator{UID: id.Operator(f[0]), Kind: Kind(f[1])}
		switch o.Kind {
		case Source:
			o.Source = nothing{}
		case Sink:
			o.Sink, o.Ports = nowhere{}, 1
		case Keyed:
			o.Ports = 2
		default:
			o.Ports = 1
		}
		if len(f) > 2 {
			n, _ := strconv.Atoi(f[2])
			o.Parallelism = int32(n)
		}
		j.Add(o)
	}
	return j
}

// TestPlansAndMistakesAreTold replays the stories in testdata: "plan default=N" prints the plan of a job or what is wrong with it.
func TestPlansAndMistakesAreTold(t *testing.T) {
	datadriven.RunTest(t, "testdata/plans", func(t *testing.T, d *datadriven.TestData) string {
		var n int
		d.ScanArgs(t, "default", &n)
		p, err := build(d.Input).Plan(Parallelism{Default: int32(n)})
		if err != nil {
			return err.Error() + "\n"
		}
		return describe(p)
	})
}

func describe(p *Plan) string {
	var b strings.Builder
	for _, v := range p.Vertices {
		var uids []string
		for _, op := range v.Operators {
			uids = append(uids, string(p.Job.Operators[op].UID))
		}
		fmt.Fprintf(&b, "v%d x%d: %s\n", v.ID, v.Parallelism, strings.Join(uids, " "))
	}
	for _, s := range p.Subtasks() {
		for _, c := range p.Outputs(s) {
			fmt.Fprintf(&b, "%v\n", c)
		}
	}
	fmt.Fprintf(&b, "slots: %d\n", p.Slots())
	return b.String()
}

// If this failed, a sender and a receiver would not agree on the channels between them.
func TestEveryChannelHasTwoEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := NewJob("drawn")
		n := rapid.IntRange(1, 6).Draw(t, "operators")
		j.Add(Operator{Kind: Source, Source: nothing{}})
		for i := 1; i <= n; i++ {
			j.Add(Operator{Kind: Keyed, Ports: 1})
			for range rapid.IntRange(1, 2).Draw(t, "inputs") {
				j.Connect(Edge{
					From: rapid.IntRange(0, i-1).Draw(t, "from"), To: i, Encode: func(*Chain, Writer) any { return nil },
					Shipping: rapid.SampledFrom([]Shipping{Forward, Hash, Rebalance}).Draw(t, "shipping"),
				})
			}
		}
		j.Add(Operator{Kind: Sink, Ports: 1, Sink: nowhere{}})
		for i := range n + 1 {
			if !slices.ContainsFunc(j.Edges, func(e Edge) bool { return e.From == i }) {
				j.Connect(Edge{From: i, To: n + 1, Shipping: Rebalance, Encode: func(*Chain, Writer) any { return nil }})
			}
		}
		par := Parallelism{Default: rapid.Int32Range(1, 4).Draw(t, "parallelism")}
		p, err := j.Plan(par)
		if err != nil {
			t.Fatal(err)
		}
		var in, out []string
		seen := 0
		for _, s := range p.Subtasks() {
			for _, c := range p.Inputs(s) {
				in = append(in, c.String())
			}
			for _, c := range p.Outputs(s) {
				out = append(out, c.String())
			}
		}
		slices.Sort(in)
		slices.Sort(out)
		if !slices.Equal(in, out) {
			t.Fatalf("inputs\n%v\noutputs\n%v", in, out)
		}
		for _, v := range p.Vertices {
			seen += len(v.Operators)
			for _, op := range v.Operators {
				if p.VertexOf(op) != v.ID {
					t.Fatalf("operator %d is in %d and said to be in %d", op, v.ID, p.VertexOf(op))
				}
			}
		}
		if seen != len(j.Operators) {
			t.Fatalf("%d of %d operators are in a vertex", seen, len(j.Operators))
		}
		wider, err := j.Plan(Parallelism{Default: par.Default + 1})
		if err != nil || wider.Job.Fingerprint() != j.Fingerprint() || len(wider.Vertices) != len(p.Vertices) {
			t.Fatal("another parallelism makes another job")
		}
	})
}

// If this failed, state would be restored into a job that it does not belong to.
func TestFingerprintIsOfTheShape(t *testing.T) {
	base := func() *Job { return build("in source\nsum keyed\nout sink\nin > sum hash\nsum > out") }
	same := base().Fingerprint()
	if again := base().Fingerprint(); again != same {
		t.Error("one job, two fingerprints")
	}
	changes := map[string]func(*Job){
		"uid":    func(j *Job) { j.Operators[1].UID = "other" },
		"kind":   func(j *Job) { j.Operators[1].Kind = Transform },
		"edge":   func(j *Job) { j.Edges[0].Shipping = Rebalance },
		"port":   func(j *Job) { j.Edges[0].Port = 1 },
		"groups": func(j *Job) { j.KeyGroups = keygroup.Default * 2 },
	}
	for name, change := range changes {
		j := base()
		change(j)
		if j.Fingerprint() == same {
			t.Errorf("another %s, the same fingerprint", name)
		}
	}
	j := base()
	j.Operators[1].Parallelism = 7
	if j.Fingerprint() != same {
		t.Error("the parallelism is in the fingerprint")
	}
}
