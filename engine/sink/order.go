package sink

import (
	"fmt"
	"slices"
)

// giveWay aborts open transactions that would overtake a salvage, and reports whether it did. A salvage writes at the end of
// a partition, behind whatever of younger epochs lies there prepared: if that were committed, the records of a key would
// change places.
//
//  1. Checkpoints 4 and 5 expire with prepared transactions, 6 completes and carries the tokens of all.
//  2. Before the commits the brokers abort 4, which is the oldest, by its timeout. 5 is open.
//  3. A restore that commits 5 and salvages 4 shows epoch 4 behind epoch 5.
//
// So 5 is aborted as well, and the next survey finds both to be salvaged, in one transaction and in their order. It happens
// only where all of its records can be read back; otherwise it is committed, because order is worth less than records.
func (r *restore) giveWay(found []Finding) (bool, error) {
	gave := false
	for _, f := range found {
		if f.Verdict != Pending || len(f.Unsalvageable) > 0 || !overtakes(f, found) {
			continue
		}
		whole, err := readable(r.ask, f)
		if err != nil {
			return gave, err
		}
		if !whole {
			r.ask(Say{fmt.Sprintf("%s cannot be read back in full and is committed, ahead of a salvage of older records", f.Token)})
			continue
		}
		r.ask(Say{fmt.Sprintf("%s is aborted, to be salvaged behind older records", f.Token)})
		ended := get[Ended](r.ask, EndTxn{Who: Identity(f.Token)})
		if err := endError(ended, f.Token); err != nil {
			return gave, err
		}
		gave = true
	}
	return gave, nil
}

// overtakes reports whether an older token is to be salvaged into a partition in which this one has records.
func overtakes(f Finding, found []Finding) bool {
	mine := rangePartitions(f.Token.Ranges)
	for _, older := range found {
		if older.Token.Sink != f.Token.Sink || older.Token.Checkpoint >= f.Token.Checkpoint {
			continue
		}
		for _, i := range older.salvageable() {
			if slices.Contains(mine, rangePartitions(older.Token.Ranges)[i]) {
				return true
			}
		}
	}
	return false
}

// readable is the dry run of a salvage for an open transaction.
func readable(ask Ask, f Finding) (bool, error) {
	for i, r := range f.Token.Ranges {
		got := get[RangeRead](ask, ReadRange{f.Token, i})
		switch {
		case got.Err != nil && !got.Gone:
			return false, got.Err
		case got.Err != nil || !got.Matches(r):
			return false, nil
		}
	}
	return true, nil
}
