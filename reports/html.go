package reports

import (
	_ "embed" // the page's template
	"html/template"
	"io"

	"github.com/onefold/onefold/faults"
)

//go:embed page.html
var page string

// pageTemplate is parsed once; it is part of the program, so it cannot fail at run time without failing every test.
var pageTemplate = template.Must(template.New("campaign").Parse(page))

// heat is a cell of the page's table of coverage.
type heat struct {
	Text, Class, Title string
}

type row struct {
	Name             string
	Cells            []heat
	Nothing, Unfired int
}

type bar struct {
	Name  string
	Count string
	Share float64 // of all seeds, in percent
	Good  bool
}

type view struct {
	*Campaign
	Bars                                 []bar
	Hooks                                []string
	Rows                                 []row
	RequestFaults                        []string
	RequestRows                          []row
	Reached, ProbeCount                  int
	Unreached                            []string
	SeedCount, Records, Epochs, TxnCount string
	Bound, FailureCount                  string
	Last                                 uint64
	Ratio                                float64
}

// WriteHTML writes one page that needs nothing else.
func (c *Campaign) WriteHTML(w io.Writer) error {
	v := view{
		Campaign: c, Hooks: hookColumns(), SeedCount: grouped(c.Seeds), Records: grouped(c.Compared.Records), Epochs: grouped(c.Compared.Epochs),
		TxnCount: grouped(c.Compared.Transactions), FailureCount: plural(len(c.Failures), "failure"), ProbeCount: len(c.Probes), Last: c.From + uint64(max(0, c.Seeds-1)), Ratio: ratio(c.VirtualSeconds, c.Seconds),
	}
	if c.CleanBound > 0 {
		v.Bound = percent(c.CleanBound)
	}
	v.bars()
	most := 1
	for _, fault := range sortedKeys(c.Coverage) {
		for _, h := range v.Hooks {
			most = max(most, c.Coverage[fault][h])
		}
	}
	for k := range faults.KindCount {
		fault := k.String()
		r := row{Name: fault, Nothing: c.HitNothing[fault], Unfired: c.NeverFired[fault]}
		for _, h := range v.Hooks {
			r.Cells = append(r.Cells, c.heat(fault, h, most))
		}
		v.Rows = append(v.Rows, r)
	}
	for _, k := range requestFaults {
		v.RequestFaults = append(v.RequestFaults, k.String())
	}
	for _, name := range c.requestNames() {
		r := row{Name: name}
		for _, f := range v.RequestFaults {
			cell := heat{Text: short(c.Requests[name][f]), Class: "h3"}
			if c.Requests[name][f] == 0 {
				cell = heat{Text: "!", Class: "empty"}
			}
			r.Cells = append(r.Cells, cell)
		}
		v.RequestRows = append(v.RequestRows, r)
	}
	for _, name := range sortedKeys(c.Probes) {
		if c.Probes[name] > 0 {
			v.Reached++
		} else {
			v.Unreached = append(v.Unreached, name)
		}
	}
	return pageTemplate.Execute(w, v)
}

func (v *view) bars() {
	for _, name := range sortedVerdicts(v.Verdicts) {
		n := v.Verdicts[name]
		v.Bars = append(v.Bars, bar{name, grouped(n), 100 * ratio(float64(n), float64(v.Seeds)), name == "CLEAN"})
	}
}

// heat colours a cell by its count: five steps, by powers.
func (c *Campaign) heat(fault, hook string, most int) heat {
	text := c.cell(fault, hook)
	cell := heat{Text: text, Class: "empty", Title: fault + " at " + hook + ": never struck"}
	switch text {
	case "-":
		cell.Class, cell.Title = "impossible", c.Impossible[fault+" "+hook]
	case ".":
		cell.Class, cell.Title = "impossible", ""
	case "!":
	default:
		n := c.Coverage[fault][hook]
		step := 1
		for least := 1; step < 5 && n > least*3; step++ {
			least *= 4
		}
		cell.Class, cell.Title = "h"+string(rune('0'+step)), fault+" at "+hook+": "+grouped(n)
	}
	return cell
}
