package payments

import (
	"encoding/binary"
	"fmt"
)

// codec carries a payment between subtasks, without its filler.
type codec struct{}

func (codec) Append(dst []byte, p Payment) []byte {
	dst = binary.BigEndian.AppendUint64(dst, p.Account)
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.Amount))
	return binary.BigEndian.AppendUint64(dst, p.Sequence)
}

func (codec) Decode(src []byte) (Payment, error) {
	if len(src) != 24 {
		return Payment{}, fmt.Errorf("a payment between subtasks has 24 bytes, not %d", len(src))
	}
	return Payment{
		Account:  binary.BigEndian.Uint64(src),
		Amount:   int64(binary.BigEndian.Uint64(src[8:])),
		Sequence: binary.BigEndian.Uint64(src[16:]),
	}, nil
}
