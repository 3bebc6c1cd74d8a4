package firetest

import (
	"fmt"
	"strings"

	"github.com/onefold/onefold/engine/kafka"
)

// Table is the matrix as Markdown, with the codes that occur.
func Table() string {
	var b strings.Builder
	b.WriteString("| request | codes of an answer | not sent | broken, lost, silent | when it stays |\n|---|---|---|---|---|\n")
	for _, e := range Matrix {
		end := string(e.End)
		if end == "" {
			end = "the caller's affair"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", e.Call, Codelist(e.Occurs, func(c kafka.Code) Outcome { return e.Want(Fault{Answered, c}) }), e.NotSent, e.Broken, end)
	}
	return b.String()
}

// Codelist is codes by their outcomes, in the order in which these come first.
func Codelist(codes []kafka.Code, of func(kafka.Code) Outcome) string {
	var order []Outcome
	list := map[Outcome][]string{}
	for _, c := range codes {
		o := of(c)
		if list[o] == nil {
			order = append(order, o)
		}
		list[o] = append(list[o], fmt.Sprint(int16(c)))
	}
	var parts []string
	for _, o := range order {
		parts = append(parts, fmt.Sprintf("*%s* %s", o, strings.Join(list[o], " ")))
	}
	return strings.Join(parts, " · ")
}
