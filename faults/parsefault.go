package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseFault reads one fault line, as Fault.String prints it.
func ParseFault(s string) (Fault, error) {
	l := split(1, s)
	first, err := l.take("\"at\" or \"on\"")
	if err != nil {
		return Fault{}, err
	}
	if first.text != "at" && first.text != "on" {
		return Fault{}, l.wrong(first, "%q where \"at\" or \"on\" should be", first.text)
	}
	return parseFault(l, first.text == "on")
}

func parseFault(l *line, onHook bool) (f Fault, err error) {
	if onHook {
		f.Trigger, err = parseHookTrigger(l)
	} else {
		f.Trigger.At, err = l.duration("a time such as 12.4s", false)
	}
	if err != nil {
		return f, err
	}
	w, err := l.take("a fault")
	if err != nil {
		return f, err
	}
	kind, ok := ParseKind(w.text)
	if !ok {
		return f, l.wrong(w, "unknown fault %q; known are %s", w.text, knownKinds())
	}
	f.Kind = kind
	for i := range len(kinds[kind].operands) {
		if err := f.parseOperand(l, kinds[kind].operands[i], i); err != nil {
			return f, err
		}
	}
	if err := f.parseAmounts(l); err != nil {
		return f, err
	}
	return f, l.done()
}

func knownKinds() string {
	var names []string
	for k := range KindCount {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

func parseHookTrigger(l *line) (t Trigger, err error) {
	w, err := l.take("a hook")
	if err != nil {
		return t, err
	}
	t.OnHook = true
	var ok bool
	if t.Hook, ok = ParseHook(w.text); !ok {
		return t, l.wrong(w, "unknown hook %q; known are k0 to k14, c1, c2, r0 to r7", w.text)
	}
	for strings.Contains(l.peek(), "=") {
		w, _ := l.take("")
		k, v, _ := strings.Cut(w.text, "=")
		n, err := strconv.ParseUint(v, 10, 62)
		if k != "subtask" && (err != nil || n == 0) {
			return t, l.wrong(w, "%q: a whole number from 1 should follow the =", w.text)
		}
		switch k {
		case "checkpoint":
			t.Checkpoint = n
		case "generation":
			t.Generation = n
		case "nth":
			t.Nth = int(n)
		case "subtask":
			var rest string
			if c, _ := fmt.Sscanf(v, "v%d/%d%s", &t.Vertex, &t.Subtask, &rest); c != 2 || t.Vertex < 0 || t.Subtask < 0 {
				return t, l.wrong(w, "%q: a subtask is written v0/1", w.text)
			}
			t.HasSubtask = true
		default:
			return t, l.wrong(w, "unknown condition %q; known are checkpoint, subtask, generation, nth", k)
		}
	}
	if t.Nth == 1 {
		t.Nth = 0
	}
	return t, nil
}

func (f *Fault) parseOperand(l *line, kind byte, index int) error {
	what := map[byte]string{'n': "a node", 'b': "a broker", 'r': "the name of a request", 'p': "a partition such as totals/0", 'u': "a release such as k44", 'v': "a level such as transaction.version=2"}[kind]
	w, err := l.take(what)
	if err != nil {
		return err
	}
	switch kind {
	case 'r':
		if !isWord(w.text, true) {
			return l.wrong(w, "%q is no name of a request", w.text)
		}
		f.Request = w.text
	case 'u':
		if !isWord(w.text, false) {
			return l.wrong(w, "%q is no release such as k44", w.text)
		}
		f.Profile = w.text
	case 'v':
		name, level, _ := strings.Cut(w.text, "=")
		n, err := strconv.Atoi(level)
		if name != feature || err != nil || n < 0 || n > 2 {
			return l.wrong(w, "%q is no level of a feature: transaction.version=0, 1 or 2", w.text)
		}
		f.Level = n
	case 'p':
		i := strings.LastIndexByte(w.text, '/')
		n, err := strconv.ParseInt(w.text[i+1:], 10, 32)
		if i <= 0 || err != nil || n < 0 {
			return l.wrong(w, "%q is no partition such as totals/0", w.text)
		}
		f.Topic, f.Partition = w.text[:i], int32(n)
	default:
		if !isWord(w.text, false) {
			return l.wrong(w, "%q is no node: small letters, digits and -", w.text)
		}
		if index == 1 && kinds[f.Kind].operands[0] == 'n' {
			f.Peer = w.text
		} else {
			f.Node = w.text
		}
	}
	return nil
}

func isWord(s string, capitals bool) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && (!capitals || c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}

func (f *Fault) parseAmounts(l *line) (err error) {
	k := &kinds[f.Kind]
	if k.by != 0 {
		if err := l.expect("by"); err != nil {
			return err
		}
		if k.by == 'f' {
			f.Factor, err = l.count("a factor from 2", 2)
		} else {
			f.By, err = l.duration("a duration such as 500ms", k.by == 's')
		}
		if err != nil {
			return err
		}
	}
	if k.amount == "" {
		return nil
	}
	if err := l.expect("for"); err != nil {
		return err
	}
	counts, lasts := strings.Contains(k.amount, "c"), strings.Contains(k.amount, "d")
	if _, err := strconv.Atoi(l.peek()); counts && (err == nil || !lasts) {
		f.Count, err = l.count("how often, from 1", 1)
		return err
	}
	f.For, err = l.duration("a duration such as 3s", false)
	return err
}

func (l *line) count(what string, least int) (int, error) {
	w, err := l.take(what)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(w.text, 10, 32)
	if err != nil || n < int64(least) {
		return 0, l.wrong(w, "%q where %s should be", w.text, what)
	}
	return int(n), nil
}

func (l *line) duration(what string, signed bool) (time.Duration, error) {
	w, err := l.take(what)
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(w.text)
	if err != nil || d < 0 && !signed {
		return 0, l.wrong(w, "%q where %s should be", w.text, what)
	}
	return d, nil
}
