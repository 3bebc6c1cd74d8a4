package checker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// The stored form is JSON lines, each an object with one key that says what it is:
//
//	{"run": ...} {"topic": ...} {"reader": ...}     what there was
//	{"produced": ...}                               a record of an input topic, by the broker's truth
//	{"broker": ...}                                 a record of an output topic, by the broker's truth
//	{"control": ...} {"partition": ...} {"open": ...}
//	{"read": ...}                                   what a reader saw, in its order
//	{"claim": ...} {"effect": ...} {"log": ...} {"transaction": ...}
//
// Topics and readers come before what names them.
type line struct {
	Run         *runLine       `json:"run,omitempty"`
	Topic       *topicLine     `json:"topic,omitempty"`
	Reader      *readerLine    `json:"reader,omitempty"`
	Produced    *recordLine    `json:"produced,omitempty"`
	Broker      *recordLine    `json:"broker,omitempty"`
	Control     *controlLine   `json:"control,omitempty"`
	Partition   *partitionLine `json:"partition,omitempty"`
	Open        *openLine      `json:"open,omitempty"`
	Read        *readLine      `json:"read,omitempty"`
	Claim       *claimLine     `json:"claim,omitempty"`
	Effect      *effectLine    `json:"effect,omitempty"`
	Log         *logLine       `json:"log,omitempty"`
	Transaction *txnLine       `json:"transaction,omitempty"`
}

type runLine struct {
	Settled  bool     `json:"settled"`
	Waits    string   `json:"waits,omitempty"`
	Panic    string   `json:"panic,omitempty"`
	Refused  string   `json:"refused,omitempty"`
	Hashes   []uint64 `json:"hashes,omitempty"`
	Unstable int64    `json:"unstable,omitempty"`
}

type topicLine struct {
	Name       string `json:"name"`
	Role       string `json:"role"` // input, output
	Partitions int32  `json:"partitions"`
}

type readerLine struct {
	Name  string `json:"name"`
	Final bool   `json:"final,omitempty"`
}

type eventLine struct {
	Undecoded bool     `json:"undecoded,omitempty"`
	Key       *string  `json:"key,omitempty"`
	Number    *int64   `json:"number,omitempty"`
	Sequence  int64    `json:"sequence,omitempty"`
	Values    *Values  `json:"values,omitempty"`
	Sources   []string `json:"sources,omitempty"` // topic/partition@offset, or topic#number
}

type recordLine struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Outcome   string `json:"outcome,omitempty"` // committed, aborted, open; nothing for plain
	Producer  *int64 `json:"producer,omitempty"`
	Epoch     int16  `json:"epoch,omitempty"`
	eventLine
}

type readLine struct {
	Reader    string `json:"reader"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	At        int64  `json:"at"`
	eventLine
}

type controlLine struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Producer  int64  `json:"producer"`
	Epoch     int16  `json:"epoch,omitempty"`
	Commit    bool   `json:"commit"`
}

type partitionLine struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Start     int64  `json:"start,omitempty"`
	Stable    int64  `json:"stable"`
	High      int64  `json:"high"`
	Compacted bool   `json:"compacted,omitempty"`
}

type openLine struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Producer  int64  `json:"producer"`
	Epoch     int16  `json:"epoch,omitempty"`
	First     int64  `json:"first"`
	Owner     string `json:"owner,omitempty"`
}

type effectLine struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

type logLine struct {
	Client   int    `json:"client"`
	Call     int64  `json:"call"`
	Return   int64  `json:"return"`
	Kind     string `json:"kind"`
	Position uint64 `json:"position"`
	Nonce    uint64 `json:"nonce,omitempty"`
	Result   string `json:"result"`
}

type txnLine struct {
	Client   int    `json:"client"`
	Call     int64  `json:"call"`
	Return   int64  `json:"return"`
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Producer int64  `json:"producer"`
	Epoch    int16  `json:"epoch,omitempty"`
	Result   string `json:"result"`
}

var (
	roleNames      = []string{"input", "output"}
	logKindNames   = []string{"create", "read", "delete"}
	logResultNames = []string{"done", "exists", "missing", "unknown"}
	txnKindNames   = []string{"initialise", "write", "commit", "abort", "timed-out", "fenced-in-memory", "observed-commit", "observed-abort"}
	txnResultNames = []string{"done", "fenced", "invalid-state", "unknown"}
	claimKindNames = []string{"claimed", "completed", "confirmed", "abandoned", "rewound", "lost", "ended", "restarted", "late"}
)

// lookup is the index of a name; ok is false when it is none of them.
func lookup(names []string, s string) (int, bool) {
	for i, n := range names {
		if n == s {
			return i, true
		}
	}
	return 0, false
}

// Write stores a history.
func (h *History) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	put := func(l line) error { return enc.Encode(l) }
	if err := h.each(put); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return b.Flush()
}

// Load reads a stored history. Errors name the line.
func Load(r io.Reader) (*History, error) {
	h := NewHistory()
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<16), 1<<26)
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		var l line
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.DisallowUnknownFields()
		err := d.Decode(&l)
		if err == nil {
			err = h.take(&l)
		}
		if err != nil {
			return nil, fmt.Errorf("history: line %d: %w", n, err)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return h, nil
}
