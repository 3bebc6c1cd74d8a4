package checker

// Check judges a history. It never changes it.
func Check(h *History, o Oracle, opts Options) Report {
	return check(h, o, opts)
}
