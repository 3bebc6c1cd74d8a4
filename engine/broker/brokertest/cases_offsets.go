package brokertest

import (
	"strings"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

func metadataLimit(t *stage.T) {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	code := t.MarkCode(who, group, lane, 6, strings.Repeat("m", 4097))
	t.Check(code == kafka.OffsetMetadataTooLarge, "4097 bytes: %v", code)
	code = t.MarkCode(who, group, lane, 6, strings.Repeat("m", 4096))
	t.Check(code == kafka.OK, "4096 bytes: %v", code)
	t.Finish(who, true, data)
}
