package brokertest

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed kfake.txt
var kfake string

// KfakeDeviations is all in which kfake is known to differ from Kafka 4.4: a list of facts below each reason.
func KfakeDeviations() []Deviation {
	list, err := ParseDeviations(kfake)
	if err != nil {
		panic("kfake.txt: " + err.Error())
	}
	return list
}

// ParseDeviations reads a list: a reason behind "#", and below it "CASE | FACT | WHAT IT IS" for each fact.
func ParseDeviations(text string) (list []Deviation, err error) {
	reason := ""
	for i, line := range strings.Split(text, "\n") {
		if r, ok := strings.CutPrefix(line, "#"); ok {
			reason = strings.TrimSpace(r)
			continue
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) != 3 {
			return nil, fmt.Errorf("line %d: %q is not CASE | FACT | WHAT IT IS", i+1, line)
		}
		d := Deviation{Case: strings.TrimSpace(parts[0]), Fact: strings.TrimSpace(parts[1]), Is: strings.TrimSpace(parts[2]), Reason: reason}
		if d.Reason == "" {
			return nil, fmt.Errorf("line %d: no reason stands above it", i+1)
		}
		list = append(list, d)
	}
	return list, nil
}

// FormatDeviations writes a list as ParseDeviations reads it, in its order.
func FormatDeviations(list []Deviation) string {
	var b strings.Builder
	reason := ""
	for i, d := range list {
		if d.Reason != reason {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "# %s\n", d.Reason)
			reason = d.Reason
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s | %s | %s", d.Case, d.Fact, d.Is), " ") + "\n")
	}
	return b.String()
}
