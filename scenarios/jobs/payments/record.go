package payments

import (
	"encoding/binary"
	"fmt"
)

// Sizes of keys and values, in bytes.
const (
	KeyBytes   = 8
	ValueBytes = 100
)

// Payment is one input record: an amount for an account. Sequence is its number in the whole input.
type Payment struct {
	Account  uint64
	Amount   int64
	Sequence uint64
}

// Total is one output record: the account's running total after a payment, with that payment's amount and sequence.
type Total struct {
	Account  uint64
	Total    int64
	Amount   int64
	Sequence uint64
}

// scramble is the output function of splitmix64 after one step of its counter.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// At is the payment with number seq of the reference data: everything follows from the number, so that a reader can check
// each output without having seen the input.
func At(seq, accounts uint64) Payment {
	return Payment{Account: scramble(seq) % accounts, Amount: int64(scramble(^seq)&0xffff) + 1, Sequence: seq}
}

// AppendKey appends the key of an account: 8 bytes, big endian.
func AppendKey(dst []byte, account uint64) []byte { return binary.BigEndian.AppendUint64(dst, account) }

// AppendValue appends the value of a payment: amount, sequence, and filler that does not compress.
func (p Payment) AppendValue(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.Amount))
	dst = binary.BigEndian.AppendUint64(dst, p.Sequence)
	filler := p.Sequence
	for n := 16; n+8 <= ValueBytes; n += 8 {
		filler = scramble(filler)
		dst = binary.LittleEndian.AppendUint64(dst, filler)
	}
	return append(dst, make([]byte, (ValueBytes-16)%8)...)
}

// Decode reads a payment from key and value of a record.
func Decode(key, value []byte) (Payment, error) {
	if len(key) != KeyBytes || len(value) < 16 {
		return Payment{}, fmt.Errorf("payment with a key of %d bytes and a value of %d bytes: want %d and at least 16", len(key), len(value), KeyBytes)
	}
	return Payment{
		Account:  binary.BigEndian.Uint64(key),
		Amount:   int64(binary.BigEndian.Uint64(value)),
		Sequence: binary.BigEndian.Uint64(value[8:]),
	}, nil
}

// AppendValue appends the value of a total: total, amount, sequence.
func (t Total) AppendValue(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Total))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Amount))
	return binary.BigEndian.AppendUint64(dst, t.Sequence)
}
