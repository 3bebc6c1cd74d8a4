// Package fsblob is the blob store on a file system: one object is one file below a directory, its key the path.
//
// An object appears by a hard link from a temporary file that was written and synced before, and the folder is synced after,
// so it is whole or absent, and two processes on one directory cannot both create it. (An exclusive open would leave a torn
// object that owns its key.) Temporary files of processes that died are ignored and swept.
package fsblob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/real/loop"
)

// scratch holds temporary files; it is no valid part of a key, so no key leads there.
const scratch = "+tmp"

// sweepAge is how old a temporary file must be to be a dead process's. One that is removed under a living process makes its
// Create fail with the outcome unknown, which is repeated.
const sweepAge = 10 * time.Minute

// Directory is a blob store on one directory, shared by the loops of a process.
type Directory struct {
	root string
	temp string // scratch files of this process begin with it
	last atomic.Uint64
}

// Open makes the directory if it is missing, checks that it can be written, and sweeps old temporary files.
func Open(dir string) (*Directory, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(root, scratch), 0o777); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", dir, explain(err))
	}
	probe, err := os.CreateTemp(filepath.Join(root, scratch), fmt.Sprintf("%d-*", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("state directory %s cannot be written: %w", dir, explain(err))
	}
	d := &Directory{root: root, temp: probe.Name()}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()), syncDir(filepath.Dir(root)))
	d.sweep(time.Now().Add(-sweepAge))
	return d, err
}

func (d *Directory) sweep(before time.Time) {
	files, err := os.ReadDir(filepath.Join(d.root, scratch))
	if err != nil {
		return // sweeping is tidiness, nothing depends on it
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(d.root, scratch, f.Name()))
		}
	}
}

// Store is the directory as the port of one loop. Its operations run one after the other, off the loop.
func (d *Directory) Store(l env.Loop) blob.Store {
	return &store{d, loop.NewPool(1).On(l)}
}

type store struct {
	dir     *Directory
	workers env.Workers
}

func (s *store) Create(k blob.Key, b []byte, done func(error)) {
	var err error
	s.workers.Offload(func() { err = s.dir.create(k, b) }, func() { done(err) })
}

func (s *store) Get(k blob.Key, done func([]byte, error)) {
	var b []byte
	var err error
	s.workers.Offload(func() { b, err = s.dir.get(k) }, func() { done(b, err) })
}

func (s *store) List(prefix blob.Key, done func([]blob.Key, error)) {
	var keys []blob.Key
	var err error
	s.workers.Offload(func() { keys, err = s.dir.list(prefix) }, func() { done(keys, err) })
}

func (s *store) Delete(k blob.Key, done func(error)) {
	var err error
	s.workers.Offload(func() { err = s.dir.remove(k) }, func() { done(err) })
}

var part = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

func (d *Directory) path(k blob.Key) (string, error) {
	for p := range strings.SplitSeq(string(k), "/") {
		if !part.MatchString(p) || p == "." || p == ".." {
			return "", fmt.Errorf("blob %q: %q cannot be part of a key", k, p)
		}
	}
	return filepath.Join(d.root, filepath.FromSlash(string(k))), nil
}

func (d *Directory) create(k blob.Key, b []byte) error {
	path, err := d.path(k)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil {
		if info.IsDir() {
			return fmt.Errorf("create %s: other keys begin with it", k)
		}
		return d.exists(k, path)
	}
	temp := fmt.Sprintf("%s-%d", d.temp, d.last.Add(1))
	defer func() { _ = os.Remove(temp) }()
	if err := write(temp, b); err != nil {
		return fmt.Errorf("create %s: %w", k, explain(err))
	}
	for try := 0; ; try++ {
		if err = makeDir(d.root, filepath.Dir(path)); err == nil {
			err = os.Link(temp, path)
		}
		// Another process may remove the empty folder between the two.
		if !errors.Is(err, fs.ErrNotExist) || try == 10 {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return d.exists(k, path)
	case err != nil:
		return fmt.Errorf("create %s: %w", k, explain(err))
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("create %s: the object is there, but perhaps not durable: %w", k, explain(err))
	}
	return nil
}

// exists answers that k is there, once it is durable: who made it may have died between the link and the sync.
func (d *Directory) exists(k blob.Key, path string) error {
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("create %s: %w", k, explain(err))
	}
	return fmt.Errorf("%s: %w", k, blob.ErrExists)
}

func (d *Directory) get(k blob.Key) ([]byte, error) {
	path, err := d.path(k)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if absent(err) || errors.Is(err, syscall.EISDIR) {
		return nil, fmt.Errorf("%s: %w", k, blob.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", k, explain(err))
	}
	return b, nil
}

func (d *Directory) list(prefix blob.Key) ([]blob.Key, error) {
	folder := d.root
	if i := strings.LastIndexByte(string(prefix), '/'); i >= 0 {
		var err error
		if folder, err = d.path(prefix[:i]); err != nil {
			return nil, err
		}
	}
	var keys []blob.Key
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case absent(err):
			return nil // removed meanwhile, or never there
		case err != nil:
			return err
		case e.IsDir() && e.Name() == scratch && filepath.Dir(path) == d.root:
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		rel, err := filepath.Rel(d.root, path)
		if k := filepath.ToSlash(rel); err == nil && strings.HasPrefix(k, string(prefix)) {
			keys = append(keys, blob.Key(k))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, explain(err))
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys, nil
}

func (d *Directory) remove(k blob.Key) error {
	path, err := d.path(k)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); absent(err) || err == nil && info.IsDir() {
		return nil
	}
	if err := os.Remove(path); err != nil && !absent(err) {
		return fmt.Errorf("delete %s: %w", k, explain(err))
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("delete %s: %w", k, explain(err))
	}
	for dir := filepath.Dir(path); dir != d.root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			break // not empty
		}
	}
	return nil
}

// absent reports whether nothing is at a path.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func write(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDir makes dir and syncs the folder above each one that it made.
func makeDir(root, dir string) error {
	if _, err := os.Stat(dir); err == nil || dir == root {
		return nil
	}
	if err := makeDir(root, filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed as empty: nothing in it to be kept
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// explain says in words what to do about the errors that a user can mend. The outcome stays unknown.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("no room left on the disk (free some: the job tries again): %w", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("not allowed to write there (check owner and mode of the state directory): %w", err)
	case errors.Is(err, syscall.EMLINK), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.EXDEV):
		return fmt.Errorf("the file system has no hard links, which create-if-absent needs (choose another one): %w", err)
	}
	return err
}
