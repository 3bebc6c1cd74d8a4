package simbroker

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() { handlers[66] = (*Broker).listTransactions }

// listTransactions lists the ids that this broker coordinates, or believes to, and no others.
func (b *Broker) listTransactions(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.ListTransactionsRequest)
	resp := req.ResponseKind().(*kmsg.ListTransactionsResponse)
	var pattern *regexp.Regexp
	if req.Version >= 2 && req.TransactionalIDPattern != nil && *req.TransactionalIDPattern != "" {
		var err error
		if pattern, err = regexp.Compile("^(?:" + *req.TransactionalIDPattern + ")$"); err != nil {
			resp.ErrorCode = invalidRegex
			reply(resp)
			return
		}
	}
	states := uint(0)
	for _, name := range req.StateFilters {
		if s, known := parseState(name); known {
			states |= 1 << s
		} else {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, name)
		}
	}
	for _, s := range b.c.shards {
		if f := b.formerly(s); f != nil {
			s = f // KAFKA-21481
		}
		if s.leader != b.id {
			continue
		}
		if !s.loaded {
			resp.ErrorCode, resp.TransactionStates = coordinatorLoading, nil
			break
		}
		for _, e := range s.entries {
			if len(req.StateFilters) > 0 && states&(1<<e.mem.state) == 0 || !wantsProducer(req.ProducerIDFilters, e.mem.pid) ||
				pattern != nil && !pattern.MatchString(e.id) ||
				req.Version >= 1 && req.DurationFilterMillis >= 0 && b.wallMs()-e.mem.startMs <= req.DurationFilterMillis {
				continue
			}
			resp.TransactionStates = append(resp.TransactionStates, kmsg.ListTransactionsResponseTransactionState{
				TransactionalID: e.id, ProducerID: e.mem.pid, TransactionState: e.mem.state.String(),
			})
		}
	}
	reply(resp)
}

func parseState(name string) (TxnState, bool) {
	for i, s := range txnStates {
		if s == name {
			return TxnState(i), true
		}
	}
	return 0, false
}

func wantsProducer(filter []int64, pid int64) bool {
	if len(filter) == 0 {
		return true
	}
	for _, f := range filter {
		if f == pid {
			return true
		}
	}
	return false
}
