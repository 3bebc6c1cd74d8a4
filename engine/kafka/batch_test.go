package kafka

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"testing"

	"github.com/klauspost/compress/snappy"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/token"
)

type rec struct {
	key, value, headers []byte
	timestamp           int64
}

func drawRecs(t *rapid.T) []rec {
	some := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 200))
	recs := make([]rec, rapid.IntRange(1, 20).Draw(t, "n"))
	for i := range recs {
		recs[i] = rec{key: some.Draw(t, "key"), value: some.Draw(t, "value"), timestamp: rapid.Int64Range(0, 1<<41).Draw(t, "timestamp")}
		if rapid.Bool().Draw(t, "headers") {
			recs[i].headers = AppendHeaders(nil, []Header{{Key: "k", Value: some.Draw(t, "header")}, {Key: ""}})
		}
	}
	return recs
}

func buildBatch(t interface{ Fatal(...any) }, recs []rec, who Identity, sequence int32, how Compression) []byte {
	var b builder
	b.reset(nil)
	for _, r := range recs {
		b.append(r.key, r.value, r.headers, r.timestamp)
	}
	buf := b.buf
	if how != NoCompression {
		var err error
		if buf, err = new(codec).pack(how, nil, buf[:batchHeader], buf[batchHeader:]); err != nil {
			t.Fatal(err)
		}
	}
	sealBatch(buf, &b, who, sequence, how)
	return buf
}

// What is written is what is read, with any codec, null apart from empty, and any number of batches in a row.
func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		how := Compression(rapid.IntRange(0, 4).Draw(t, "codec"))
		who := Identity{TransactionalID: "x", ProducerID: rapid.Int64().Draw(t, "pid"), ProducerEpoch: rapid.Int16().Draw(t, "epoch")}
		one, two := drawRecs(t), drawRecs(t)
		all := append(buildBatch(t, one, who, 7, how), buildBatch(t, two, who, 8, NoCompression)...)
		all = append(all, all[:rapid.IntRange(0, 60).Draw(t, "tail")]...)
		it := ReadBatches(all)
		for _, recs := range [][]rec{one, two} {
			if !it.Next() {
				t.Fatalf("no batch: %v", it.Err())
			}
			b := it.Batch
			if b.ProducerID != who.ProducerID || b.ProducerEpoch != who.ProducerEpoch || !b.Transactional || b.Control || int(b.Count) != len(recs) || b.LastOffset != int64(len(recs)-1) {
				t.Fatalf("header %+v", b)
			}
			for i, r := range recs {
				if !it.NextRecord() {
					t.Fatalf("record %d of %d: %v", i, len(recs), it.Err())
				}
				g := it.Record
				if !same(g.Key, r.key) || !same(g.Value, r.value) || !bytes.Equal(g.Headers, r.headers) || g.Timestamp != r.timestamp || g.Offset != int64(i) {
					t.Fatalf("record %d: got %+v want %+v", i, g, r)
				}
			}
			if it.NextRecord() {
				t.Fatal("one record more than written")
			}
		}
		if it.Next() || it.Err() != nil {
			t.Fatalf("a cut batch was visited: %v", it.Err())
		}
	})
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// Bytes that lie make an error: no panic, no endless walk, no allocation by a claimed size. The checksum is made right
// again, so that the parser is what is tested.
func TestBrokenBatchIsAnError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		how := Compression(rapid.IntRange(0, 4).Draw(t, "codec"))
		b := buildBatch(t, drawRecs(t), Identity{}, 0, how)
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			n := rapid.IntRange(batchHeader, len(b)).Draw(t, "cut")
			b = b[:n]
			binary.BigEndian.PutUint32(b[lengthAt:], uint32(n-lengthBase))
		case 1:
			for range rapid.IntRange(1, 8).Draw(t, "flips") {
				b[rapid.IntRange(attributesAt, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
		case 2:
			binary.BigEndian.PutUint32(b[57:], rapid.Uint32().Draw(t, "count"))
			binary.BigEndian.PutUint32(b[23:], rapid.Uint32().Draw(t, "delta"))
		}
		binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[attributesAt:], castagnoli))
		walk(b)
	})
}

func walk(b []byte) (records int, err error) {
	it := ReadBatches(b)
	for it.Next() {
		if it.Batch.Control {
			it.Marker()
		}
		for it.NextRecord() {
			records++
			ParseHeaders(it.Record.Headers)
		}
	}
	return records, it.Err()
}

// A changed byte under the checksum is found.
func TestChecksumIsChecked(t *testing.T) {
	b := buildBatch(t, []rec{{value: []byte("v")}}, Identity{}, 0, NoCompression)
	b[len(b)-2] ^= 1
	if _, err := walk(b); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v", err)
	}
}

func FuzzBatches(f *testing.F) {
	for how := NoCompression; how <= Zstd; how++ {
		f.Add(buildBatch(f, []rec{{key: []byte("k"), value: bytes.Repeat([]byte("v"), 300)}}, Identity{}, 0, how))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= batchHeader {
			b = bytes.Clone(b)
			binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-lengthBase))
			b[versionAt] = 2
			binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[attributesAt:], castagnoli))
		}
		walk(b)
	})
}

// The Java client frames snappy in blocks; both forms are read.
func TestXerialSnappyIsRead(t *testing.T) {
	plain := bytes.Repeat([]byte("abcdefgh"), 1000)
	framed := append(bytes.Clone(xerial), 0, 0, 0, 1, 0, 0, 0, 1)
	for i := 0; i < len(plain); i += 3000 {
		block := snappy.Encode(nil, plain[i:min(len(plain), i+3000)])
		framed = binary.BigEndian.AppendUint32(framed, uint32(len(block)))
		framed = append(framed, block...)
	}
	got, err := new(codec).inflate(Snappy, framed)
	if err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for n := range len(framed) {
		new(codec).inflate(Snappy, framed[:n])
	}
}

// The sum over a range is the same however its records were cut into batches and whatever offsets they got.
func TestRangeSumIgnoresBatchBoundaries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := drawRecs(t)
		fold := func(batches ...[]byte) (sum RangeSum) {
			for _, b := range batches {
				for it := ReadBatches(b); it.Next(); {
					for it.NextRecord() {
						sum.Add(&it.Batch, &it.Record)
					}
				}
			}
			return sum
		}
		cut := rapid.IntRange(1, len(recs)).Draw(t, "cut")
		parts := [][]byte{buildBatch(t, recs[:cut], Identity{}, 0, Zstd)}
		if cut < len(recs) {
			parts = append(parts, buildBatch(t, recs[cut:], Identity{}, 5, NoCompression))
		}
		a := fold(buildBatch(t, recs, Identity{}, 0, NoCompression))
		if b := fold(parts...); a != b || a.Count != int64(len(recs)) {
			t.Fatalf("%+v and %+v", a, b)
		}
		recs[0].timestamp++
		if c := fold(buildBatch(t, recs, Identity{}, 0, NoCompression)); c.Times == a.Times || c.Bodies != a.Bodies {
			t.Fatalf("another timestamp: %+v, and %+v before", c, a)
		}
	})
}

// A token that an older version left in a job log is known again: its records are not given up as lost.
func TestRangeSumKnowsTokensOfWireVersion1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := drawRecs(t)
		var sum RangeSum
		var kept, replaced uint32
		for it := ReadBatches(buildBatch(t, recs, Identity{}, 0, NoCompression)); it.Next(); {
			for it.NextRecord() {
				sum.Add(&it.Batch, &it.Record)
				kept = crc32.Update(kept, castagnoli, binary.BigEndian.AppendUint64(nil, uint64(it.Record.Timestamp)))
				kept = crc32.Update(kept, castagnoli, it.Record.Body)
				replaced = crc32.Update(replaced, castagnoli, it.Record.Body)
			}
		}
		for text, is := range map[string]bool{
			fmt.Sprintf(`{"count":%d,"crc":%d}`, len(recs), kept):                            true,
			fmt.Sprintf(`{"count":%d,"crc":%d,"logAppendTime":true}`, len(recs), replaced):   true,
			fmt.Sprintf(`{"count":%d,"crc":%d}`, len(recs)+1, kept):                          false,
			fmt.Sprintf(`{"count":%d,"crc":%d}`, len(recs), kept^1):                          false,
			fmt.Sprintf(`{"count":%d,"crc":%d,"logAppendTime":true}`, len(recs), replaced^1): false,
		} {
			var r token.Range
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
			if sum.Matches(r) != is {
				t.Fatalf("%s: matches %v; the log says %+v", text, !is, sum)
			}
		}
	})
}

// The folded timestamp is plain crc32c of its eight bytes: anybody can compute the sum of a range.
func TestRangeSumIsPlainCRC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		crc, ts := rapid.Uint32().Draw(t, "crc"), rapid.Int64().Draw(t, "ts")
		if got, want := sumTimestamp(crc, ts), crc32.Update(crc, castagnoli, binary.BigEndian.AppendUint64(nil, uint64(ts))); got != want {
			t.Fatalf("%08x, want %08x", got, want)
		}
	})
}

// If this failed, a salvage would take records for those of a transaction that are not, or would not know its own again.
func TestRangeSumMatchesOnlyWhatWasWritten(t *testing.T) {
	want := token.Range{Count: 2, Bodies: 5, Times: 6}
	for _, c := range []struct {
		what string
		sum  RangeSum
		is   bool
	}{
		{"the same", RangeSum{Count: 2, Bodies: 5, Times: 6}, true},
		{"one less", RangeSum{Count: 1, Bodies: 5, Times: 6}, false},
		{"another value", RangeSum{Count: 2, Bodies: 4, Times: 6}, false},
		{"another timestamp", RangeSum{Count: 2, Bodies: 5, Times: 7}, false},
		{"timestamps of the broker", RangeSum{Count: 2, Bodies: 5, Times: 7, Restamped: true}, true},
		{"another value, timestamps of the broker", RangeSum{Count: 2, Bodies: 4, Times: 7, Restamped: true}, false},
	} {
		if c.sum.Matches(want) != c.is {
			t.Errorf("%s: matches %v", c.what, !c.is)
		}
	}
}

func benchRecord() (key, value []byte) { return make([]byte, 8), make([]byte, 100) }

func BenchmarkBuildAndSeal(b *testing.B) {
	key, value := benchRecord()
	var bd builder
	sum := RangeSum{}
	buf := make([]byte, 0, 520<<10)
	b.ReportAllocs()
	bd.reset(buf)
	for i := range b.N {
		body := bd.append(key, value, nil, 1_700_000_000_000+int64(i&1023))
		sum.add(int64(i), body)
		if len(bd.buf) > 512<<10 {
			sealBatch(bd.buf, &bd, Identity{TransactionalID: "x"}, 0, NoCompression)
			bd.reset(bd.buf)
		}
	}
}

func BenchmarkReadRecord(b *testing.B) {
	key, value := benchRecord()
	var bd builder
	bd.reset(nil)
	for bd.count < 4000 {
		bd.append(key, value, nil, 1_700_000_000_000+int64(bd.count))
	}
	sealBatch(bd.buf, &bd, Identity{}, 0, NoCompression)
	it := ReadBatches(nil)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		it.Reset(bd.buf)
		for it.Next() {
			for it.NextRecord() {
				n++
			}
		}
		if it.Err() != nil {
			b.Fatal(it.Err())
		}
	}
}

// Sizes that compressed bytes merely claim are not allocated.
func TestClaimedSizesAreNotAllocated(t *testing.T) {
	claims := map[Compression][]byte{
		Snappy: {0xff, 0xff, 0xff, 0xff, 0x07, 0, 'x'},                                            // 2 GiB
		Zstd:   {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0x40, 0, 0, 0, 0, 1, 0, 0},                // 1 GiB in one segment
		LZ4:    {0x04, 0x22, 0x4d, 0x18, 0x68, 0x70, 0, 0, 0, 0x40, 0, 0, 0, 0, 0xd3, 0, 0, 0, 0}, // 1 GiB of content
	}
	for how, b := range claims { // order irrelevant: each stands alone
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		new(codec).inflate(how, b)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 40 {
			t.Errorf("%s: %d MiB for %d bytes", how, n, len(b))
		}
	}
}
