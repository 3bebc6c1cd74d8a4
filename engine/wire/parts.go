package wire

import (
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

func subtask(c *coder, s *id.Subtask) {
	signed(c, &s.Vertex)
	signed(c, &s.Index)
}

func split(c *coder, s *operator.Split) {
	text(c, &s.Topic)
	signed(c, &s.Partition)
	signed(c, &s.Position)
	signed(c, &s.Stop)
}

func position(c *coder, p *checkpoint.Position) {
	text(c, &p.Topic)
	signed(c, &p.Partition)
	signed(c, &p.Position)
	signed(c, &p.Stop)
}

func handle(c *coder, h *checkpoint.Handle) {
	text(c, &h.Key)
	signed(c, &h.Bytes)
	unsigned(c, &h.CRC)
}

func operatorState(c *coder, s *checkpoint.OperatorState) {
	text(c, &s.Operator)
	list(c, &s.Positions, position)
	list(c, &s.Keyed, handle)
	c.bytes(&s.Plain)
	watermark := s.Watermark != nil
	c.bool(&watermark)
	if c.decode {
		s.Watermark = nil
		if watermark {
			s.Watermark = new(int64)
		}
	}
	if s.Watermark != nil {
		c.int(s.Watermark)
	}
}

func subtaskState(c *coder, s *checkpoint.SubtaskState) {
	signed(c, &s.Vertex)
	signed(c, &s.Index)
	list(c, &s.Operators, operatorState)
	list(c, &s.Channel, handle)
	list(c, &s.Tokens, tokenOf)
}

func rangeOf(c *coder, r *token.Range) {
	text(c, &r.Topic)
	signed(c, &r.Partition)
	signed(c, &r.First)
	signed(c, &r.Last)
	signed(c, &r.Count)
	unsigned(c, &r.Bodies)
	unsigned(c, &r.Times)
}

func tokenOf(c *coder, t *token.Token) {
	text(c, &t.Sink)
	signed(c, &t.Subtask)
	unsigned(c, &t.Checkpoint)
	unsigned(c, &t.Generation)
	text(c, &t.TransactionalID)
	signed(c, &t.ProducerID)
	signed(c, &t.ProducerEpoch)
	signed(c, &t.EndTxnVersion)
	signed(c, &t.Number)
	signed(c, &t.Lane.Partition)
	signed(c, &t.Lane.Value)
	text(c, &t.Lane.Metadata)
	text(c, &t.Metadata)
	list(c, &t.Ranges, rangeOf)
	signed(c, &t.OpenedUnixMs)
}

func result(c *coder, r *operator.CommitResult) {
	tokenOf(c, &r.Token)
	unsigned(c, &r.State)
	text(c, &r.Reason)
}
