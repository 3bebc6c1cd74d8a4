package firetest

import (
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/kafka"
)

// Expected is what is seen of one call under every fault.
type Expected struct {
	Call string
	Rows []Row
	Rest Outcome // of the codes in no row
	// Broken is what broken connections, lost answers and silence give, and NotSent what a request that never leaves gives.
	NotSent, Broken Outcome
	// End is what becomes of a call that repeats when the fault stays.
	End Outcome
	// Occurs are the codes that brokers of 3.9 to 4.4 send: those that a table shows.
	Occurs []kafka.Code
}

// Row is the codes of one outcome.
type Row struct {
	Outcome Outcome
	Codes   []kafka.Code
}

// Codes that speak of a wrong leader or of a topic that is not there, codes that pass, codes that speak of a wrong
// coordinator, and codes that no repetition helps.
var (
	ofLeaders      = []kafka.Code{3, 5, 6, 9, 41, 55, 56, 72, 74, 75, 100, 103}
	passing        = []kafka.Code{2, 7, 13, 14, 19, 20, 51, 78, 88, 89}
	ofCoordinators = []kafka.Code{15, 16}
	misplaced      = []kafka.Code{14, 15, 16}
	refusing       = []kafka.Code{10, 12, 17, 18, 24, 29, 30, 31, 36, 37, 38, 40, 42, 43, 44, 50, 53, 76, 87, 999}
)

func both(a, b []kafka.Code) []kafka.Code { return slices.Concat(a, b) }

func without(a []kafka.Code, not ...kafka.Code) []kafka.Code {
	return slices.DeleteFunc(slices.Clone(a), func(c kafka.Code) bool { return slices.Contains(not, c) })
}

// toldAt is a call that is tried once at a leader or a coordinator, which it forgets after these codes.
func toldAt(call string, forgets, occurs []kafka.Code) Expected {
	return Expected{
		Call: call, Rows: []Row{{ToldLooks, forgets}}, Rest: Told,
		NotSent: NotLooks, Broken: UnknLooks, Occurs: occurs,
	}
}

// Matrix is the behaviour of the client: what each call does with each code.
var Matrix = []Expected{
	{
		Call: "Produce, by a Producer", Rest: Fails, End: GivesUp, NotSent: Refreshes, Broken: Refreshes,
		Rows:   []Row{{Repeats, both(passing, ofCoordinators)}, {Refreshes, ofLeaders}},
		Occurs: []kafka.Code{-1, 2, 3, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19, 20, 29, 31, 42, 43, 45, 46, 47, 48, 49, 51, 53, 56, 59, 76, 87, 90, 100, 120},
	},
	toldAt("Produce, once", ofLeaders, []kafka.Code{-1, 2, 3, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19, 20, 29, 31, 42, 43, 45, 46, 47, 48, 49, 51, 53, 56, 59, 76, 87, 90, 100, 120}),
	{
		Call: "Fetch, by a Fetcher", Rest: Fails, End: Waits, NotSent: Refreshes, Broken: Refreshes,
		Rows:   []Row{{Refreshes, slices.Concat(passing, ofLeaders, []kafka.Code{-1, 1})}},
		Occurs: []kafka.Code{-1, 1, 2, 3, 6, 9, 13, 29, 56, 74, 75, 76, 78, 87, 100, 103},
	},
	{
		Call: "Fetch, by a Fetcher, whole answer", Rest: Fails, End: Waits, NotSent: Refreshes, Broken: Refreshes,
		Rows:   []Row{{Refreshes, slices.Concat(passing, ofLeaders, []kafka.Code{-1})}},
		Occurs: []kafka.Code{-1, 13, 35, 42},
	},
	toldAt("Fetch, once", ofLeaders, []kafka.Code{-1, 1, 2, 3, 6, 9, 13, 29, 56, 74, 75, 76, 78, 87, 100, 103}),
	{
		Call: "ListOffsets", Rest: Repeats, End: GivesUp, NotSent: Refreshes, Broken: Refreshes,
		Rows:   []Row{{Refreshes, ofLeaders}, {Fails, refusing}},
		Occurs: []kafka.Code{-1, 3, 5, 6, 9, 13, 29, 35, 42, 43, 56, 74, 75, 78},
	},
	{
		Call: "Metadata, of topics", Rest: Told, End: GivesUp, NotSent: Repeats, Broken: Repeats,
		Rows:   []Row{{Repeats, both(passing, without(ofLeaders, 3))}},
		Occurs: []kafka.Code{-1, 3, 5, 17, 29, 100},
	},
	{
		Call: "ApiVersions", Rest: Repeats, End: GivesUp, NotSent: Repeats, Broken: Repeats,
		Rows:   []Row{{Fails, refusing}},
		Occurs: []kafka.Code{35, 42},
	},
	{
		Call: "FindCoordinator", Rest: NotDone, NotSent: NotDone, Broken: NotDone,
		Occurs: []kafka.Code{-1, 14, 15, 24, 30, 42, 53},
	},
	toldAt("InitProducerId", misplaced, []kafka.Code{-1, 14, 15, 16, 31, 35, 42, 47, 49, 50, 51, 53, 90}),
	{
		Call: "AddPartitionsToTxn, by a Producer", Rest: Fails, End: GivesUp, NotSent: Refreshes, Broken: Refreshes,
		Rows:   []Row{{Repeats, without(both(passing, ofLeaders), 14)}, {Refreshes, misplaced}},
		Occurs: []kafka.Code{-1, 3, 14, 15, 16, 29, 42, 47, 48, 49, 51, 53, 55, 90, 120},
	},
	toldAt("AddPartitionsToTxn, once", misplaced, []kafka.Code{-1, 3, 14, 15, 16, 29, 42, 47, 48, 49, 51, 53, 55, 90, 120}),
	toldAt("AddOffsetsToTxn", misplaced, []kafka.Code{-1, 14, 15, 16, 24, 30, 42, 47, 48, 49, 51, 53, 90, 120}),
	toldAt("TxnOffsetCommit", misplaced, []kafka.Code{-1, 3, 7, 12, 14, 15, 16, 22, 24, 25, 29, 30, 42, 43, 47, 48, 49, 51, 53, 69, 82, 90, 113, 120}),
	toldAt("EndTxn", misplaced, []kafka.Code{-1, 14, 15, 16, 35, 42, 47, 48, 49, 51, 53, 90, 120}),
	toldAt("OffsetCommit", misplaced, []kafka.Code{-1, 3, 7, 12, 14, 15, 16, 22, 24, 25, 29, 30, 69, 82, 113}),
	toldAt("OffsetFetch, group", misplaced, []kafka.Code{-1, 14, 15, 16, 24, 25, 30, 69, 113}),
	toldAt("OffsetFetch, partition", nil, []kafka.Code{3, 29, 88, 100}),
	toldAt("CreateTopics", []kafka.Code{41}, []kafka.Code{-1, 7, 17, 29, 31, 36, 37, 38, 40, 41, 42, 44, 89}),
	toldAt("CreatePartitions", []kafka.Code{41}, []kafka.Code{-1, 3, 7, 17, 29, 31, 37, 41, 42, 44, 89}),
	toldAt("DeleteRecords", ofLeaders, []kafka.Code{-1, 1, 3, 6, 7, 29, 44}),
	{
		Call: "DescribeConfigs", Rest: Told, NotSent: NotDone, Broken: Unknown,
		Occurs: []kafka.Code{-1, 3, 17, 29, 31, 40, 42},
	},
	{
		Call: "DescribeProducers", Rest: Told, NotSent: Told13, Broken: Told13,
		Rows:   []Row{{ToldLooks, ofLeaders}},
		Occurs: []kafka.Code{-1, 3, 6, 17, 29},
	},
	toldAt("DescribeTransactions", misplaced, []kafka.Code{-1, 14, 15, 16, 42, 53, 105}),
	{
		Call: "ListTransactions", Rest: Told, NotSent: NotDone, Broken: Unknown,
		Occurs: []kafka.Code{-1, 14, 15, 128},
	},
	toldAt("WriteTxnMarkers", ofLeaders, []kafka.Code{-1, 3, 6, 7, 19, 20, 31, 35, 43, 47, 48, 52, 56}),
}

// Of is what the matrix says about a call.
func Of(call string) (Expected, bool) {
	for _, e := range Matrix {
		if e.Call == call {
			return e, true
		}
	}
	return Expected{}, false
}

// Want is the outcome of a fault that strikes twice.
func (e Expected) Want(f Fault) Outcome {
	switch f.Mode {
	case NotSent:
		return e.NotSent
	case Broken, Lost, Silent:
		return e.Broken
	}
	for _, r := range e.Rows {
		if slices.Contains(r.Codes, f.Code) {
			return r.Outcome
		}
	}
	return e.Rest
}

// WantLasting is the outcome of a fault that stays.
func (e Expected) WantLasting(f Fault) Outcome {
	if w := e.Want(f); w != Repeats && w != Refreshes {
		return w
	}
	return e.End
}

// Check compares cells with the matrix.
func Check(cells []Cell, lasting bool) (errs []error) {
	for _, c := range cells {
		e, ok := Of(c.Call)
		want := e.Want(c.Fault)
		if lasting {
			want = e.WantLasting(c.Fault)
		}
		if !ok || c.Got != want {
			why := "no error"
			if c.Err != nil {
				why = c.Err.Error()
			}
			errs = append(errs, fmt.Errorf("%s answered %s: %q, not %q: %s", c.Call, c.Fault, c.Got, want, why))
		}
	}
	return errs
}
