package checkpoint

import (
	"sort"

	"github.com/onefold/onefold/engine/token"
)

func all(m Manifest) []token.Token {
	var tokens []token.Token
	for _, s := range m.Subtasks {
		tokens = append(tokens, s.Tokens...)
	}
	return tokens
}

// fresh is the tokens that Completed must list: those of the manifest that no earlier Completed has listed, oldest first.
//
//  1. Checkpoint 5 completes; Completed{5} lists its token.
//  2. Barrier 6 passes the sink before notice 5 arrives: the token of 5 is in snapshot 6, too.
//  3. Notice 5, commit, Confirmed{5}; its id is free and used again.
//  4. Checkpoint 6 completes. Were the token of 5 listed once more, a restore would ask Kafka about a transaction whose
//     evidence the next one has replaced.
//
// A token is in every snapshot until its end, so what was listed before is in the manifest completed before. Golden:
// token_listed_once.
func (c *Coordinator) fresh(m Manifest) []token.Token {
	var tokens []token.Token
	for _, t := range all(m) {
		if find(c.carried, t) < 0 && find(tokens, t) < 0 {
			tokens = append(tokens, t)
		}
	}
	sort.SliceStable(tokens, func(i, j int) bool { return tokens[i].Checkpoint < tokens[j].Checkpoint })
	return tokens
}

// find is the index of the same transaction, or -1.
func find(tokens []token.Token, t token.Token) int {
	for i, o := range tokens {
		if o.TransactionalID == t.TransactionalID && o.ProducerID == t.ProducerID && o.ProducerEpoch == t.ProducerEpoch && o.Checkpoint == t.Checkpoint {
			return i
		}
	}
	return -1
}
