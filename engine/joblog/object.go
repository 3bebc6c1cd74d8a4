package joblog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"strconv"
	"strings"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
)

// Prefix is where the entries live.
const Prefix blob.Key = "log/"

// ErrCorrupt says that an object is not what was written. Nothing older is safe: the job must not start.
var ErrCorrupt = errors.New("corrupt object")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Key is where the entry at position p lives.
func Key(p id.Position) blob.Key { return blob.Key(fmt.Sprintf("%s%016d", Prefix, uint64(p))) }

// ParseKey is the inverse of Key.
func ParseKey(k blob.Key) (id.Position, bool) {
	digits, ok := strings.CutPrefix(string(k), string(Prefix))
	if !ok || len(digits) != 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return id.Position(n), err == nil
}

// Seal appends the crc32c line to a JSON document: the format of entries, manifests and seals.
func Seal(document []byte) []byte {
	return fmt.Appendf(document, "\n%08x\n", crc32.Checksum(document, castagnoli))
}

// Unseal is the inverse of Seal; the error names the key.
func Unseal(k blob.Key, object []byte) ([]byte, error) {
	const tail = 10 // newline, eight digits, newline
	cut := len(object) - tail
	if cut < 0 || object[cut] != '\n' || object[len(object)-1] != '\n' {
		return nil, fmt.Errorf("%s: %w: it has no checksum line", k, ErrCorrupt)
	}
	document := object[:cut]
	want := fmt.Sprintf("%08x", crc32.Checksum(document, castagnoli))
	if got := string(object[cut+1 : len(object)-1]); got != want {
		return nil, fmt.Errorf("%s: %w: its checksum line reads %q, its content has %s", k, ErrCorrupt, got, want)
	}
	return document, nil
}

// Encode is the object of an entry.
func Encode(e Entry) []byte {
	document, err := json.Marshal(e)
	if err != nil {
		panic(err) // plain data always encodes
	}
	return Seal(document)
}

// Decode is the inverse of Encode for the object at position p.
func Decode(p id.Position, object []byte) (Entry, error) {
	var e Entry
	document, err := Unseal(Key(p), object)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(document, &e); err != nil {
		return e, fmt.Errorf("%s: %w: %w", Key(p), ErrCorrupt, err)
	}
	if e.Position != p {
		return e, fmt.Errorf("%s: %w: it says position %d", Key(p), ErrCorrupt, e.Position)
	}
	return e, nil
}

// verify checks that e follows prev: its state is the fold of prev's with e.
func verify(prev *Entry, e Entry) error {
	var before State
	if prev != nil {
		before = prev.State
	}
	want, err := before.Fold(e)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", Key(e.Position), ErrCorrupt, err)
	}
	if !equal(want, e.State) {
		return fmt.Errorf("%s: %w: its state is not the fold of the log", Key(e.Position), ErrCorrupt)
	}
	return nil
}

func equal(a, b State) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
