package checker

// claims is the fold of what the engine claims.
type claims struct {
	completed      map[uint64]int // checkpoint -> index of its newest CheckpointCompleted in h.Claims; looked up only
	confirmed      []uint64       // in order
	confirmedCount int
	newest         *Claim // the completion of the newest confirmed checkpoint
	losses         []*Claim
	stopped        bool   // by the newest loss: nothing was completed or confirmed afterwards
	lost           []Span // inputs that a loss may be about
	late           []Span
}

func (c *claims) fold(h *History) {
	c.completed = map[uint64]int{}
	for i := range h.Claims {
		switch k := &h.Claims[i]; k.Kind {
		case CheckpointCompleted:
			c.stopped = false
			c.completed[k.Checkpoint] = i
		case CheckpointConfirmed:
			c.stopped = false
			c.confirmed = append(c.confirmed, k.Checkpoint)
			c.confirmedCount++
			if at, ok := c.completed[k.Checkpoint]; ok {
				c.newest = &h.Claims[at]
			}
		case Loss:
			c.stopped = true
			c.losses = append(c.losses, k)
			c.lost = append(c.lost, c.inputsOf(h, k)...)
		case LateDropped:
			c.late = append(c.late, k.Inputs...)
		}
	}
}

// inputsOf are the inputs that a loss is about. A claim that does not name them is about those between the newest confirmed
// positions and the positions of the checkpoint that lost.
func (c *claims) inputsOf(h *History, loss *Claim) []Span {
	at, ok := c.completed[loss.Checkpoint]
	if len(loss.Inputs) > 0 || !ok {
		return loss.Inputs
	}
	var spans []Span
	for _, to := range h.Claims[at].Positions {
		from := int64(0)
		if c.newest != nil {
			for _, p := range c.newest.Positions {
				if p.Topic == to.Topic && p.Partition == to.Partition {
					from = p.Offset
				}
			}
		}
		spans = append(spans, Span{to.Topic, to.Partition, from, to.Offset})
	}
	return spans
}
