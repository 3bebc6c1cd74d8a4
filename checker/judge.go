package checker

func check(h *History, o Oracle, opts Options) Report {
	return Report{Verdict: Vacuous, Verdicts: []Verdict{Vacuous}}
}
