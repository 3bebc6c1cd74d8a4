package kafka

import "fmt"

// Batches walks over the whole batches of a fetched string of bytes and over the records of each, in place.
//
//	for it := ReadBatches(b); it.Next(); {
//		for it.NextRecord() {
//			use(&it.Record)
//		}
//	}
//
// A batch need not be read to its end. A cut last batch is not visited and is no error. The bytes of a record of a
// compressed batch are valid until the next Next.
type Batches struct {
	Batch  Batch
	Record Record

	rest    []byte
	records []byte
	at      int
	left    int32 // records of the batch not yet visited
	packed  bool  // the records are still compressed
	codec   *codec
	err     error
}

// ReadBatches starts a walk.
func ReadBatches(b []byte) *Batches {
	it := &Batches{}
	it.Reset(b)
	return it
}

// Reset starts another walk with the same buffers.
func (b *Batches) Reset(src []byte) {
	b.rest, b.records, b.left, b.err = src, nil, 0, nil
}

// Next moves to the next batch and checks it.
func (b *Batches) Next() bool {
	if b.err != nil {
		return false
	}
	raw, rest, ok := cutBatch(b.rest)
	if !ok {
		b.left = 0
		return false
	}
	if b.Batch, b.err = parseBatch(raw); b.err != nil {
		return false
	}
	b.rest, b.records, b.at, b.left = rest, raw[batchHeader:], 0, b.Batch.Count
	b.packed = b.Batch.Compression != NoCompression
	return true
}

// NextRecord moves to the next record of the batch.
func (b *Batches) NextRecord() bool {
	if b.left == 0 {
		return false
	}
	if b.packed && !b.inflate() {
		return false
	}
	b.at = readRecord(b.records, b.at, &b.Batch, &b.Record)
	b.left--
	if b.at < 0 || b.left == 0 && b.at != len(b.records) {
		b.err = fmt.Errorf("%w at offset %d: record %d of %d is malformed", ErrCorrupt, b.Batch.BaseOffset, b.Batch.Count-b.left, b.Batch.Count)
		b.left = 0
		return false
	}
	return true
}

func (b *Batches) inflate() bool {
	if b.codec == nil {
		b.codec = new(codec)
	}
	records, err := b.codec.inflate(b.Batch.Compression, b.records)
	if err != nil {
		b.err = fmt.Errorf("%w at offset %d: %w", ErrCorrupt, b.Batch.BaseOffset, err)
		b.left = 0
		return false
	}
	b.records, b.packed = records, false
	return true
}

// Marker is the verdict of a control batch; ok is false when it is none. It reads the batch's record.
func (b *Batches) Marker() (commit, ok bool) {
	if !b.Batch.Control || !b.NextRecord() {
		return false, false
	}
	return markerVerdict(b.Record.Key)
}

// Err is what ended the walk early.
func (b *Batches) Err() error { return b.err }
