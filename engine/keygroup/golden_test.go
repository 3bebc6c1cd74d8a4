package keygroup

// goldenNumbers and goldenBytes are hashes as the first version made them.
var (
	goldenNumbers = map[uint64]Hash{
		0:                    0xa6b7704,
		1:                    0x52819a3f,
		2:                    0x19cfc15c,
		42:                   0xb08bbc2e,
		4294967296:           0xb09b9e9,
		9223372036854775808:  0x118a066c,
		18446744073709551615: 0xc8dbfca7,
	}
	goldenBytes = map[string]Hash{
		"":                                    0x850f979,
		"a":                                   0xe893200b,
		"ab":                                  0xaac43dc8,
		"account-7":                           0x369d713f,
		"12345678":                            0x78a90bfa,
		"123456789":                           0x437e4dad,
		"a key that is longer than two words": 0xfc928795,
	}
)
