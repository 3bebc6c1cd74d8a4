package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
	Out      string      `xml:"system-out,omitempty"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the campaign as JUnit XML: one case per failing seed, one for all seeds without a failure, one for
// what the campaign reached. Cases for ten thousand clean seeds would say nothing more.
func (c *Campaign) WriteJUnit(w io.Writer) error {
	s := junitSuite{Name: "simrun campaign " + c.Scenario, Time: fmt.Sprintf("%.3f", c.Seconds)}
	class := "onefold." + strings.ReplaceAll(c.Scenario, " ", "+")
	s.Cases = append(s.Cases, junitCase{Class: class, Name: fmt.Sprintf("%d seeds without a failure", c.Seeds-len(c.Failures)), Time: s.Time})
	for _, f := range c.Failures {
		s.Cases = append(s.Cases, junitCase{
			Class: "onefold." + f.Scenario, Name: fmt.Sprintf("seed %d", f.Seed), Time: "0",
			Failure: &junitFailure{f.Verdict, f.Detail, "\n" + f.Command + "\n\n" + f.Plan},
		})
	}
	reached := junitCase{Class: class, Name: "reached what it must", Time: "0"}
	if len(c.Vacuous) > 0 {
		reached.Failure = &junitFailure{"VACUOUS", c.Vacuous[0], "\n" + strings.Join(c.Vacuous, "\n") + "\n"}
	}
	s.Cases = append(s.Cases, reached)
	s.Tests = len(s.Cases)
	for _, k := range s.Cases {
		if k.Failure != nil {
			s.Failures++
		}
	}
	s.Out = fmt.Sprintf("%s; compared %d records, %d epochs, %d transactions; trace hash %s", verdictText(c.Verdicts), c.Compared.Records,
		c.Compared.Epochs, c.Compared.Transactions, c.TraceHash)
	all := junitSuites{Name: s.Name, Tests: s.Tests, Failures: s.Failures, Time: s.Time, Suites: []junitSuite{s}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
