package fsblob

import (
	"testing"
	"time"

	"github.com/onefold/onefold/engine/blob/blobtest"
	"github.com/onefold/onefold/engine/real/loop"
)

// clients opens a directory of its own for every client, as processes do.
type clients struct {
	t   *testing.T
	dir string
}

func (c clients) Client() blobtest.Client {
	l := loop.New("test", loop.NewClock())
	c.t.Cleanup(l.Close)
	return blobtest.Client{Post: l.Post, Store: open(c.t, c.dir).Store(l)}
}

func (c clients) Settle(cond func() bool) bool {
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func TestStoreConforms(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.World { return clients{t, t.TempDir()} })
}
