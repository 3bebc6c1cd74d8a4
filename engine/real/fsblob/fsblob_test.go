package fsblob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/blob"
)

func open(t *testing.T, dir string) *Directory {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Two processes would both own a position of the job log.
func TestOneOfManyCreatorsWins(t *testing.T) {
	dir := t.TempDir()
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for p := range 8 {
		d := open(t, dir)
		wg.Go(func() {
			for i := range 20 {
				k := blob.Key(fmt.Sprintf("log/%016d", i))
				switch err := d.create(k, fmt.Append(nil, p)); {
				case err == nil:
					won.Add(1)
				case errors.Is(err, blob.ErrExists):
					lost.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if won.Load() != 20 || lost.Load() != 140 {
		t.Fatalf("%d won, %d lost", won.Load(), lost.Load())
	}
}

// A delete that removes an emptied folder must not make a create in it fail.
func TestCreateAndDeleteInOneFolder(t *testing.T) {
	d := open(t, t.TempDir())
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := range 50 {
				k := blob.Key(fmt.Sprintf("a/b/%d-%d", p, i))
				if err := d.create(k, nil); err != nil {
					t.Error(err)
				}
				if err := d.remove(k); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := os.Stat(filepath.Join(d.root, "a")); err == nil {
		t.Error("empty folders are left")
	}
}

func TestLeftoverTemporaryFilesAreIgnoredAndSwept(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	old, young := filepath.Join(dir, scratch, "1-old"), filepath.Join(dir, scratch, "2-young")
	for _, f := range []string{old, young} {
		if err := os.WriteFile(f, []byte("torn"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * sweepAge)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if keys, err := d.list(""); err != nil || len(keys) != 0 {
		t.Fatal(keys, err)
	}
	open(t, dir)
	if _, err := os.Stat(old); err == nil {
		t.Error("not swept")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("a living process's file was swept")
	}
}

func TestKeysThatWouldLeaveTheDirectoryAreRefused(t *testing.T) {
	d := open(t, t.TempDir())
	for _, k := range []blob.Key{"", "/", "..", "a/../b", "a//b", "+tmp/x", "a/.", "a b", "ä"} {
		if err := d.create(k, nil); err == nil || errors.Is(err, blob.ErrExists) {
			t.Errorf("%q: %v", k, err)
		}
	}
}

// The order of keys is that of their bytes, also where a folder's name is a prefix of another's.
func TestListIsInOrderOfKeys(t *testing.T) {
	d := open(t, t.TempDir())
	for _, k := range []blob.Key{"a/b", "a-b", "a.c/d", "a/a/a", "b"} {
		if err := d.create(k, nil); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := d.list("a")
	if got := fmt.Sprint(keys); err != nil || got != "[a-b a.c/d a/a/a a/b]" {
		t.Fatal(got, err)
	}
}

// /dev/full has the errors of a full disk without one.
func TestFullDiskIsUnknownAndSaysSo(t *testing.T) {
	err := explain(write2full())
	if err == nil || !strings.Contains(err.Error(), "no room left") || errors.Is(err, blob.ErrExists) {
		t.Fatal(err)
	}
}

func write2full() error {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write([]byte("x"))
	return err
}

// A file where the state directory should be is an error that names it.
func TestOpenOnAFile(t *testing.T) {
	f := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(f, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(f); err == nil || !strings.Contains(err.Error(), f) {
		t.Fatal(err)
	}
}
