package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The guard: this test reads the source of the whole module and keeps what is correctness, not taste. Who may import whom
// keeps the checker independent of what it judges and the engine free of the real world; the bans keep a run a function of
// its seed. Each message names what to use instead.

const module = "github.com/onefold/onefold/"

// ports are the packages of the engine that a world implements or speaks.
var ports = []string{
	"engine/env", "engine/blob", "engine/broker", "engine/proc", "engine/hook", "engine/probe", "engine/trace",
	"engine/script", "engine/invariant", "engine/id",
}

const kmsg = "github.com/twmb/franz-go/pkg/kmsg"

// may says what the packages below a folder may import besides the standard library and the folder itself. The first
// line that matches counts. Below not nothing may be imported; others are outside modules, with what is below them, and "*"
// is all of them.
var may = []struct {
	folder string
	own    []string
	not    []string
	others []string
	why    string
}{
	{
		folder: "engine/real", own: []string{"engine"}, others: []string{"*"},
		why: "engine/real implements the engine's ports; it knows no simulator and no checker",
	},
	{
		folder: "engine", not: []string{"engine/real"},
		others: []string{
			kmsg, "github.com/cespare/xxhash/v2", "github.com/klauspost/compress",
			"github.com/pierrec/lz4/v4", "github.com/google/btree", "github.com/cockroachdb/pebble",
		},
		why: "the engine asks its ports (env, blob, broker, proc) and is put on a world by others",
	},
	{folder: "faults", why: "faults owns the Target interface and needs the standard library only"},
	{
		folder: "checker", others: []string{"github.com/anishathalye/porcupine"},
		why: "an oracle shares no code with what it judges",
	},
	{
		folder: "sim/simbroker", own: append([]string{"sim", "faults"}, ports...),
		others: []string{kmsg, "github.com/klauspost/compress", "github.com/pierrec/lz4/v4"},
		why:    "a simulated broker shares no code with the client that it is asked by",
	},
	{
		folder: "sim", own: append([]string{"faults"}, ports...), others: []string{kmsg},
		why: "the simulator knows the engine's ports only; an engine is put on a world in scenarios",
	},
	{
		folder: "scenarios/jobs", own: []string{"engine"}, not: []string{"engine/real"},
		why: "a job knows the engine only, as a user's does",
	},
	{
		folder: "scenarios/oracle", own: []string{"checker"},
		why: "an oracle shares no code with what it judges",
	},
	{
		folder: "scenarios/outside", own: []string{"faults"},
		why: "what can be done from outside is data for both worlds",
	},
	{
		folder: "scenarios/claim", own: []string{"engine/blob", "engine/checkpoint", "engine/id", "engine/joblog", "engine/token", "checker"},
		why: "what a log claims is read from its format alone",
	},
	{
		folder: "scenarios", own: []string{"engine", "sim", "faults", "checker"}, not: []string{"engine/real"},
		others: []string{kmsg},
		why:    "a scenario puts the engine on a simulated world",
	},
	{
		folder: "reports", own: []string{"checker", "faults"},
		why: "a report is drawn from verdicts and plans",
	},
	{
		folder: "cmd/simrun", own: []string{"scenarios", "sim", "reports", "checker", "faults"},
		others: []string{"github.com/spf13"},
		why:    "simrun runs scenarios",
	},
	{
		folder: "cmd/realrun",
		own:    []string{"engine", "scenarios/jobs", "scenarios/oracle", "scenarios/outside", "scenarios/claim", "checker", "reports", "faults", "sim/simbroker/reference"},
		others: []string{"*"},
		why:    "realrun is wiring; of the simulator it knows only what a real cluster is compared with",
	},
}

// deterministic says whether a package is one whose every step is a function of the seed. A campaign is not: it runs many
// worlds side by side, and looks at the clock to end.
func deterministic(dir string) bool {
	switch {
	case below(dir, "engine/real"), below(dir, "scenarios/campaign"):
		return false
	}
	return slices.ContainsFunc([]string{"engine", "sim", "faults", "scenarios"}, func(folder string) bool { return below(dir, folder) })
}

// suite says whether a package is a conformance suite, which is test code in a file of its own.
func suite(dir string) bool { return strings.HasSuffix(dir, "test") }

func below(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }

// bannedImports are packages that a deterministic package does not import, and what it uses instead.
var bannedImports = map[string]string{
	"sync":         "one loop owns one state: env.Loop.Post hands over to another",
	"sync/atomic":  "one loop owns one state: env.Loop.Post hands over to another",
	"os":           "blob.Store for files, trace.Observer for output",
	"os/exec":      "a port of its own",
	"io/ioutil":    "blob.Store",
	"net":          "env.Transport between processes, broker.Requests to Kafka",
	"math/rand":    "env.Rand.Draw, by name",
	"math/rand/v2": "env.Rand.Draw, by name",
	"crypto/rand":  "env.Rand.Draw, by name; proc.Process.Nonce for what must be unique",
	"hash/maphash": "a stable hash: its seed differs from process to process",
	"log":          "trace.Observer.Log",
	"log/slog":     "trace.Observer.Log",
	"syscall":      "a port",
}

// bannedNames are functions that a deterministic package does not use.
var bannedNames = map[string]string{
	"time.Now":       "env.Clock.Now, or Wall for people",
	"time.Since":     "env.Clock.Now",
	"time.Until":     "env.Clock.Now",
	"time.Sleep":     "env.Loop.After, or Spend for time that work takes",
	"time.After":     "env.Loop.After",
	"time.AfterFunc": "env.Loop.After",
	"time.Tick":      "env.Loop.After",
	"time.NewTimer":  "env.Loop.After",
	"time.NewTicker": "env.Loop.After",

	"runtime.Gosched":      "env.Loop.Post",
	"runtime.NumGoroutine": "nothing: the machine must not show",
	"runtime.NumCPU":       "nothing: the machine must not show",
	"runtime.GOMAXPROCS":   "nothing: the machine must not show",
}

// mapWalks are functions that visit a map in no order.
var mapWalks = []string{"maps.Keys", "maps.Values", "maps.All"}

const walk = "the order of a map is no function of the seed: keep a sorted slice, or say in a comment \"order irrelevant: ...\" on this line or above"

// unstableSorts order equal elements as it happens to come.
var unstableSorts = []string{"sort.Slice", "sort.Sort", "slices.SortFunc", "slices.SortedFunc"}

const unstable = "equal elements come in no order: use slices.SortStableFunc, or say in a comment \"keys differ ...\" on this line or above"

// unit is one package of the module.
type unit struct {
	dir   string // below the module's root
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info // nil where types do not matter
}

type finding struct {
	pos  token.Position
	text string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.pos.Filename, f.pos.Line, f.text) }

// judge reads one package.
func judge(u *unit) []finding {
	var found []finding
	for _, f := range u.files {
		g := &guard{u: u, comments: commentLines(u.fset, f)}
		g.imports(f)
		if deterministic(u.dir) && !suite(u.dir) {
			ast.Inspect(f, g.visit)
		}
		found = append(found, g.found...)
	}
	return found
}

// guard reads one file.
type guard struct {
	u        *unit
	comments map[int]string
	found    []finding
}

func commentLines(fset *token.FileSet, f *ast.File) map[int]string {
	lines := map[int]string{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			lines[fset.Position(c.Pos()).Line] += c.Text
		}
		lines[fset.Position(group.End()).Line] += group.Text()
	}
	return lines
}

func (g *guard) report(at token.Pos, format string, args ...any) {
	g.found = append(g.found, finding{g.u.fset.Position(at), fmt.Sprintf(format, args...)})
}

// excused says whether a comment on the line, or on the one above, begins with the words.
func (g *guard) excused(at token.Pos, words string) bool {
	line := g.u.fset.Position(at).Line
	return strings.Contains(g.comments[line], words) || strings.Contains(g.comments[line-1], words)
}

func (g *guard) imports(f *ast.File) {
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if why := importAllowed(g.u.dir, path); why != "" {
			g.report(spec.Pos(), "%s may not import %s: %s", g.u.dir, path, why)
		}
		if instead := bannedImport(path); instead != "" && deterministic(g.u.dir) && !suite(g.u.dir) {
			g.report(spec.Pos(), "import of %s: use %s", path, instead)
		}
	}
}

func bannedImport(path string) string {
	for p := path; p != "."; p = filepath.Dir(p) {
		if instead := bannedImports[p]; instead != "" {
			return instead
		}
	}
	return ""
}

// importAllowed says why a package may not import another, or nothing if it may.
func importAllowed(dir, path string) string {
	for _, m := range may {
		if !below(dir, m.folder) {
			continue
		}
		inside := func(p string) func(string) bool { return func(folder string) bool { return below(p, folder) } }
		if own, ok := strings.CutPrefix(path, module); ok {
			if !slices.ContainsFunc(m.not, inside(own)) && (below(own, m.folder) || slices.ContainsFunc(m.own, inside(own))) {
				return ""
			}
			return m.why
		}
		first, _, _ := strings.Cut(path, "/")
		if !strings.Contains(first, ".") || slices.Contains(m.others, "*") || slices.ContainsFunc(m.others, inside(path)) {
			return ""
		}
		return m.why
	}
	return ""
}

func (g *guard) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		g.report(n.Pos(), "go statement: use env.Workers.Offload for heavy work, env.Loop.Post for the rest")
	case *ast.SelectStmt:
		g.report(n.Pos(), "select: a loop waits for callbacks; use env.Loop.Post and After")
	case *ast.ChanType:
		g.report(n.Pos(), "channel: use env.Loop.Post")
	case *ast.SendStmt:
		g.report(n.Pos(), "channel send: use env.Loop.Post")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			g.report(n.Pos(), "channel receive: use env.Loop.Post")
		}
	case *ast.RangeStmt:
		g.ranges(n)
	case *ast.SelectorExpr:
		g.selector(n)
	}
	return true
}

func (g *guard) ranges(n *ast.RangeStmt) {
	t := g.u.info.TypeOf(n.X)
	if t == nil {
		return
	}
	switch core(t).(type) {
	case *types.Map:
		if !g.excused(n.Pos(), "order irrelevant:") {
			g.report(n.Pos(), "range over a map: %s", walk)
		}
	case *types.Chan:
		g.report(n.Pos(), "range over a channel: use env.Loop.Post")
	}
}

// core is the one underlying type of t, also of a type parameter.
func core(t types.Type) types.Type {
	p, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	var only types.Type
	c := p.Constraint().Underlying().(*types.Interface)
	for i := range c.NumEmbeddeds() {
		if u, ok := c.EmbeddedType(i).(*types.Union); ok && u.Len() == 1 {
			only = u.Term(0).Type().Underlying()
		}
	}
	return only
}

func (g *guard) selector(n *ast.SelectorExpr) {
	obj := g.u.info.ObjectOf(n.Sel)
	if obj == nil || obj.Pkg() == nil {
		return
	}
	name := obj.Pkg().Path() + "." + obj.Name()
	if instead := bannedNames[name]; instead != "" {
		g.report(n.Pos(), "%s: use %s", name, instead)
	}
	if (slices.Contains(mapWalks, name) || name == "reflect.MapRange" || name == "reflect.MapKeys") && !g.excused(n.Pos(), "order irrelevant:") {
		g.report(n.Pos(), "%s: %s", name, walk)
	}
	if slices.Contains(unstableSorts, name) && !g.excused(n.Pos(), "keys differ") {
		g.report(n.Pos(), "%s: %s", name, unstable)
	}
}

// listed is what the go command says about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard                bool
	Error                   *struct{ Err string }
}

// loader checks packages from their source against the compiled packages that they import.
type loader struct {
	fset    *token.FileSet
	exports map[string]string
	types   types.Importer
}

// list asks the go command for packages and what they need.
func list(t *testing.T, patterns ...string) []listed {
	t.Helper()
	args := append([]string{"list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard,Error"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func newLoader(all []listed) *loader {
	l := &loader{fset: token.NewFileSet(), exports: map[string]string{}}
	for _, p := range all {
		l.exports[p.ImportPath] = p.Export
	}
	l.types = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		if l.exports[path] == "" {
			return nil, fmt.Errorf("%s is not compiled", path)
		}
		return os.Open(l.exports[path])
	})
	return l
}

// load parses a package, given as name and source of its files, and finds its types if they matter.
func (l *loader) load(dir string, names []string, source func(name string) any) (*unit, error) {
	u := &unit{dir: dir, fset: l.fset}
	for _, name := range names {
		f, err := parser.ParseFile(l.fset, name, source(name), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		u.files = append(u.files, f)
	}
	if !deterministic(dir) || suite(dir) {
		return u, nil
	}
	u.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	c := types.Config{Importer: l.types}
	_, err := c.Check(module+dir, l.fset, u.files, u.info)
	return u, err
}

// If this failed, something in the source would break determinism or the independence of the judge.
func TestSourceKeepsTheRules(t *testing.T) {
	all := list(t, "./...")
	l := newLoader(all)
	root, _ := filepath.Abs("..")
	packages := 0
	for _, p := range all {
		dir, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || len(p.GoFiles) == 0 {
			continue
		}
		var names []string
		for _, name := range p.GoFiles {
			names = append(names, filepath.Join(p.Dir, name))
		}
		u, err := l.load(dir, names, func(string) any { return nil })
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		packages++
		for _, f := range judge(u) {
			f.pos.Filename, _ = filepath.Rel(root, f.pos.Filename)
			t.Error(f)
		}
	}
	if packages < 20 {
		t.Errorf("only %d packages were read", packages)
	}
}

// If this failed, the guard would be blind to what it is there for.
func TestGuardSeesPlantedViolations(t *testing.T) {
	l := newLoader(list(t, "maps", "slices", "sort", "reflect", "sync", "os", "net/http", "time", "math/rand"))
	for _, c := range []struct {
		dir, body string
		want      string // in the one message; empty: none
	}{
		{"engine/x", `import "sync"; var _ sync.Mutex`, "env.Loop.Post"},
		{"engine/x", `import "os"; var _ = os.Args`, "blob.Store"},
		{"engine/x", `import "net/http"; var _ http.Client`, "env.Transport"},
		{"engine/x", `import "math/rand"; var _ = rand.Int`, "env.Rand"},
		{"engine/x", `import "time"; func f() { time.Sleep(1) }`, "env.Loop.After"},
		{"engine/x", `import clock "time"; var _ = clock.Now`, "env.Clock"},
		{"engine/x", `import "time"; var _ = time.Second`, ""},
		{"engine/x", `func f() { go f() }`, "env.Workers"},
		{"engine/x", `func f() { select {} }`, "env.Loop"},
		{"engine/x", `type t struct{ c chan int }`, "env.Loop.Post"},
		{"engine/x", `func f(m map[int]int) { for range m {} }`, "order irrelevant"},
		{"engine/x", `type m map[int]int; func f(x m) { for range x {} }`, "order irrelevant"},
		{"engine/x", `func f[M ~map[int]int](x M) { for range x {} }`, "order irrelevant"},
		{"engine/x", "func f(m map[int]int) {\n\t// order irrelevant: a sum\n\tfor range m {}\n}", ""},
		{"engine/x", "func f(m map[int]int) {\n\tfor range m { // order irrelevant: a sum\n\t}\n}", ""},
		{"engine/x", `func f(m []int) { for range m {} }`, ""},
		{"sim/x", `import "maps"; func f(m map[int]int) { for range maps.Keys(m) {} }`, "order irrelevant"},
		{"faults", `import "reflect"; func f(v reflect.Value) { v.MapKeys() }`, "order irrelevant"},
		{"engine/x", `import "slices"; func f(s []int) { slices.SortFunc(s, nil) }`, "SortStableFunc"},
		{"engine/x", `import "sort"; func f(s []int) { sort.Slice(s, nil) }`, "SortStableFunc"},
		{"engine/x", `import "slices"; func f(s []int) { slices.Sort(s) }`, ""},
		{"scenarios/x", `import "time"; var _ = time.Now`, "env.Clock"},
		{"scenarios/x", `func f(m map[int]int) { for range m {} }`, "order irrelevant"},
		{"scenarios/campaign", `import "sync"; var _ sync.Mutex`, ""},
		{"engine/real/x", `import "sync"; func f(m map[int]int) { var _ sync.Mutex; go f(m); for range m {} }`, ""},
		{"engine/xtest", `import "sync"; var _ sync.Mutex`, ""},
	} {
		u, err := l.load(c.dir, []string{"planted.go"}, func(string) any { return "package x\n" + c.body + "\n" })
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		found := judge(u)
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s in %s: a false alarm: %v", c.body, c.dir, found)
		case c.want != "" && (len(found) != 1 || !strings.Contains(found[0].text, c.want)):
			t.Errorf("%s in %s: found %v, not one that says %q", c.body, c.dir, found, c.want)
		}
	}
}

// If this failed, a layer could reach around the one below it.
func TestGuardKnowsTheDirections(t *testing.T) {
	for _, c := range []struct {
		dir, path string
		allowed   bool
	}{
		{"engine/sink", module + "engine/kafka", true},
		{"engine/sink", module + "engine/real/kafka", false},
		{"engine/sink", module + "sim", false},
		{"engine/sink", module + "checker", false},
		{"engine/kafka", kmsg, true},
		{"engine/kafka", "github.com/twmb/franz-go/pkg/kgo", false},
		{"engine/real/kafka", "github.com/twmb/franz-go/pkg/kgo", true},
		{"engine/real/kafka", module + "sim", false},
		{"engine/real/kafka", module + "engine/broker", true},
		{"faults/shrink", module + "faults", true},
		{"faults", module + "engine/hook", false},
		{"faults", "github.com/twmb/franz-go/pkg/kmsg", false},
		{"checker", "github.com/anishathalye/porcupine", true},
		{"checker", module + "engine/id", false},
		{"sim", module + "engine/env", true},
		{"sim/simbroker", module + "engine/broker", true},
		{"sim/simbroker", module + "engine/kafka", false},
		{"sim/simbroker", "github.com/klauspost/compress/zstd", true},
		{"sim/simblob", "github.com/klauspost/compress/zstd", false},
		{"sim", module + "faults", true},
		{"scenarios/jobs/payments", module + "engine/flow", true},
		{"scenarios/jobs/payments", module + "sim", false},
		{"scenarios/oracle/payments", module + "checker", true},
		{"scenarios/oracle/payments", module + "engine/flow", false},
		{"scenarios/campaign", module + "scenarios", true},
		{"scenarios", module + "engine/real", false},
		{"reports", module + "checker", true},
		{"reports", module + "engine/id", false},
		{"cmd/simrun", module + "engine/flow", false},
		{"cmd/realrun", module + "sim", false},
		{"cmd/realrun", module + "sim/simbroker", false},
		{"cmd/realrun", module + "sim/simbroker/reference", true},
		{"cmd/realrun", module + "engine/real/run", true},
		{"cmd/realrun", module + "scenarios/jobs/payments", true},
		{"cmd/realrun", module + "scenarios/controls", false},
		{"cmd/realrun", module + "scenarios/outside", true},
		{"scenarios/outside", module + "faults", true},
		{"scenarios/outside", module + "sim", false},
		{"engine/sink", "encoding/json", true},
	} {
		if why := importAllowed(c.dir, c.path); (why == "") != c.allowed {
			t.Errorf("%s imports %s: allowed should be %v", c.dir, c.path, c.allowed)
		}
	}
}
