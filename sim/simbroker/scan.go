package simbroker

// Scan is every record of a partition from an offset on, up to the high watermark: markers and aborted ones included.
func (c *Cluster) Scan(topic string, num int32, from int64) []Logged {
	return c.AppendScan(nil, topic, num, from)
}

// AppendScan is Scan into the space behind out.
func (c *Cluster) AppendScan(out []Logged, topic string, num int32, from int64) []Logged {
	p := c.mustFind(topic, num)
	return p.log.appendRecords(out, max(from, p.log.start), p.log.hw)
}
