package kafka

// varint reads one zigzag varint at b[i] and returns the index behind it, or -1 when b ends within it, it is longer than
// ten bytes, or i is -1 already. So a chain of reads needs one check at its end.
func varint(b []byte, i int) (int64, int) {
	if uint(i) < uint(len(b)) {
		c := b[i]
		if c < 0x80 {
			return int64(c>>1) ^ -int64(c&1), i + 1
		}
		if j := i + 1; j < len(b) && b[j] < 0x80 {
			u := uint32(c&0x7f) | uint32(b[j])<<7
			return int64(u>>1) ^ -int64(u&1), i + 2
		}
	}
	return longVarint(b, i)
}

//go:noinline
func longVarint(b []byte, i int) (int64, int) {
	if i < 0 {
		return 0, -1
	}
	var x uint64
	for shift := uint(0); shift < 64 && i < len(b); shift += 7 {
		c := b[i]
		i++
		x |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(x>>1) ^ -int64(x&1), i
		}
	}
	return 0, -1
}

// appendVarint appends x in zigzag form.
func appendVarint(b []byte, x int64) []byte {
	u := uint64(x)<<1 ^ uint64(x>>63)
	for u >= 0x80 {
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// varintLen is the length that appendVarint gives x.
func varintLen(x int64) int {
	n := 1
	for u := (uint64(x)<<1 ^ uint64(x>>63)) >> 7; u != 0; u >>= 7 {
		n++
	}
	return n
}
