package checker

// Finding is one violation of one property.
type Finding struct {
	Verdict  Verdict `json:"verdict"`
	Property string  `json:"property"`
	// Detail says in one sentence which record, which offsets, which epoch.
	Detail string `json:"detail"`
	// Evidence are the lines that prove it.
	Evidence []string `json:"evidence,omitempty"`
	// Place is the sink or topic.
	Place string `json:"place,omitempty"`
	// Token is the state of the token concerned, if any.
	Token string `json:"token,omitempty"`
	// Count is how many records, transactions or partitions are concerned.
	Count int `json:"count"`
}

// Signature is what makes two failures the same: verdict, property, place and state of the token, never record ids.
func (f Finding) Signature() string {
	return f.Verdict.String() + " " + f.Property + " " + f.Place + " " + f.Token
}

// Compared is how much was judged.
type Compared struct {
	Records      int `json:"records"`      // reads compared with inputs
	Epochs       int `json:"epochs"`       // of confirmed checkpoints
	Transactions int `json:"transactions"` // distinct producer id and producer epoch in the broker's truth
	Operations   int `json:"operations"`   // given to a linearizability model
}

// Report is the outcome of Check.
type Report struct {
	Verdict  Verdict   `json:"verdict"`  // the most severe
	Verdicts []Verdict `json:"verdicts"` // all, the most severe first
	Findings []Finding `json:"findings,omitempty"`
	Compared Compared  `json:"compared"`
}

// Signature is that of the first finding; empty when clean.
func (r Report) Signature() string {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0].Signature()
}

// Options say what the run was meant to be.
type Options struct {
	// Complete: all inputs must be visible, as after a bounded job or one that caught up. Otherwise only those below the
	// newest confirmed positions.
	Complete bool
	// AtLeastOnce: duplicates are allowed, as are older values in order and fold.
	AtLeastOnce bool
	// AtMostOnce: gaps are allowed.
	AtMostOnce bool
	// NoEpochs: the job promises no checkpoints, so having confirmed none is not vacuous.
	NoEpochs bool
	// Running: the job goes on, so nothing is at rest: open transactions, sinks that differ for a moment and records beyond
	// the last stable offset are legal.
	Running bool
	// MaxRestarts is how many restarts in a row from one checkpoint for one reason are none too many; default 8.
	MaxRestarts int
	// MaxUnstable is the longest that a last stable offset may stand still in a healthy stretch, in nanoseconds; 0: any.
	MaxUnstable int64
	// Without names properties that are not judged; for tests of the checker itself.
	Without []string
}
