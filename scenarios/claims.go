package scenarios

import (
	"bytes"
	"encoding/json"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/scenarios/claim"
)

// claims turns the job log, as it is in the end, into what the engine claims.
func (w *World) claims() {
	for _, op := range w.log.ops {
		if op.Kind == checker.LogRead && op.Result == checker.LogUnknown {
			continue // a read without an answer says nothing
		}
		w.History.JobLog = append(w.History.JobLog, op)
	}
	w.readLog()
}

// transactions turns what callers were told about transactions into a history for the sequential model.
func (w *World) transactions() {
	for _, o := range w.Cluster.Operations() {
		w.History.TxnLog = append(w.History.TxnLog, checker.TransactionOperation{
			Client: o.Client, Call: int64(o.Call), Return: int64(o.Return),
			ID: o.ID, Kind: checker.TransactionKind(o.Kind), ProducerID: o.ProducerID, ProducerEpoch: o.Epoch, Result: checker.TransactionResult(o.Result),
		})
	}
}

// readLog turns entries that are new in the job log into claims. It is called before anything is deleted, so that none is
// truncated unread.
func (w *World) readLog() {
	for _, k := range w.Store.Keys(joblog.Prefix) {
		p, ok := joblog.ParseKey(k)
		if !ok || p < w.log.next {
			continue
		}
		object, _ := w.Store.Peek(k)
		if e, ok := decodeFact(k, object); ok {
			w.entries = append(w.entries, e)
			w.claim(e)
		}
		w.log.next = p + 1
	}
}

// sleeper counts entries that one generation wrote, and was told of, below the floor of the log. One is what a sleeper cannot
// avoid: it must notice and stop. A second one says that it believed the first.
func (w *World) sleeper(p id.Position, object []byte) {
	if p == 0 || p >= w.log.next {
		return
	}
	if _, there := w.Store.Peek(joblog.Key(p - 1)); there {
		return
	}
	e, ok := decodeFact(joblog.Key(p), object)
	if !ok {
		return
	}
	if w.log.below == nil {
		w.log.below = map[id.Generation]int{}
	}
	if w.log.below[e.Generation]++; w.log.below[e.Generation] == 2 {
		w.History.Claims = append(w.History.Claims, checker.Claim{
			Kind: checker.GenerationClaimed, Generation: uint64(e.Generation), At: int64(w.Sim.Now()),
			Reason: "it writes on below the floor of the log",
		})
	}
}

func decodeEntry(k blob.Key, object []byte) (joblog.Entry, bool) {
	document, err := joblog.Unseal(k, object)
	if err != nil {
		return joblog.Entry{}, false
	}
	var e joblog.Entry
	return e, json.Unmarshal(document, &e) == nil
}

// decodeFact is decodeEntry without the fold, which is most of an entry.
func decodeFact(k blob.Key, object []byte) (joblog.Entry, bool) {
	document, err := joblog.Unseal(k, object)
	if err != nil {
		return joblog.Entry{}, false
	}
	// Within a text the quotes would be escaped.
	if i := bytes.Index(document, []byte(`,"state":{`)); i >= 0 {
		var e joblog.Entry
		if json.Unmarshal(append(document[:i:i], '}'), &e) == nil {
			return e, true
		}
	}
	return decodeEntry(k, object)
}

func (w *World) claim(e joblog.Entry) {
	c, ok := claim.Of(w.History, e, w.object)
	if !ok {
		return
	}
	if e.Position < w.inherited {
		c.Transactions = nil // they were another cluster's
	}
	w.History.Claims = append(w.History.Claims, c)
}

// object is what lies under a key; nil when it has been deleted.
func (w *World) object(k blob.Key) []byte {
	object, _ := w.Store.Peek(k)
	return object
}

// newest is the fold of the job log in its newest entry.
func (w *World) newest() (joblog.State, bool) {
	keys := w.Store.Keys(joblog.Prefix)
	if len(keys) == 0 {
		return joblog.State{}, false
	}
	k := keys[len(keys)-1]
	object, _ := w.Store.Peek(k)
	e, ok := decodeEntry(k, object)
	return e.State, ok
}
