package mem

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/state"
)

const groups = 16

// number is a codec of integers for tests.
type number struct{}

func (number) Append(dst []byte, v int64) []byte { return fmt.Appendf(dst, "%d", v) }
func (number) Decode(src []byte) (v int64, err error) {
	_, err = fmt.Sscan(string(src), &v)
	return v, err
}

// content is all that a frozen backend holds, as text.
func content(f state.Frozen) map[string]string {
	all := map[string]string{}
	for _, name := range f.Tables() {
		var before state.Entry
		f.Each(name, func(e state.Entry) {
			if before.Key != nil && (e.Group < before.Group || e.Group == before.Group && bytes.Compare(e.Key, before.Key) <= 0) {
				panic(fmt.Sprintf("%s: %d/%x comes after %d/%x", name, e.Group, e.Key, before.Group, before.Key))
			}
			before = state.Entry{Group: e.Group, Key: slices.Clone(e.Key)}
			all[fmt.Sprintf("%s/%x", name, e.Key)] = string(e.Value)
		})
	}
	return all
}

// selectKey selects key k in a backend of either kind.
func selectKey(b *Backend, k uint64) string {
	if b.numeric {
		b.SelectUint64(keygroup.OfUint64(k), k)
		return fmt.Sprintf("%016x", k)
	}
	word := fmt.Appendf(nil, "k%d", k)
	b.SelectBytes(keygroup.OfBytes(word), word)
	return fmt.Sprintf("%x", word)
}

// If this failed, a table would lose, invent or mix up values, or a snapshot would change after its barrier.
func TestTablesBehaveAsMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New(groups, rapid.Bool().Draw(t, "integers"))
		flats, err := NewValue(b, "flat", state.Codec[int64](number{}))
		if err != nil {
			t.Fatal(err)
		}
		slicesOf, err := NewValue(b, "bytes", state.Codec[[]byte](raw{}))
		if err != nil {
			t.Fatal(err)
		}
		model := map[string]string{}
		before := map[string]string{} // at the last freeze
		var frozen []state.Frozen
		var wants []map[string]string
		keys := rapid.Uint64Range(0, uint64(rapid.SampledFrom([]int{5, 400}).Draw(t, "keys")))
		t.Repeat(map[string]func(*rapid.T){
			"warm": func(t *rapid.T) { // keys that exist and keys that do not; it must change nothing
				var hashes []keygroup.Hash
				for range rapid.IntRange(0, 20).Draw(t, "count") {
					selectKey(b, keys.Draw(t, "key"))
					hashes = append(hashes, b.hash)
				}
				b.Warm(hashes)
			},
			"set": func(t *rapid.T) {
				k, v := selectKey(b, keys.Draw(t, "key")), rapid.Int64().Draw(t, "value")
				flats.Set(v)
				model["flat/"+k] = fmt.Sprint(v)
			},
			"setMany": func(t *rapid.T) {
				for i := range uint64(200) {
					k := selectKey(b, i*7)
					flats.Set(int64(i))
					model["flat/"+k] = fmt.Sprint(i)
				}
			},
			"setBytes": func(t *rapid.T) {
				k, v := selectKey(b, keys.Draw(t, "key")), rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "value")
				slicesOf.Set(v)
				model["bytes/"+k] = string(v)
				for i := range v {
					v[i]++ // what was set must not follow
				}
			},
			"get": func(t *rapid.T) {
				k := selectKey(b, keys.Draw(t, "key"))
				want, ok := model["flat/"+k]
				if got, have := flats.Get(); have != ok || ok && fmt.Sprint(got) != want {
					t.Fatalf("key %s: %d %v, not %s %v", k, got, have, want, ok)
				}
				want, ok = model["bytes/"+k]
				if got, have := slicesOf.Get(); have != ok || string(got) != want {
					t.Fatalf("key %s: %q %v, not %q %v", k, got, have, want, ok)
				}
			},
			"delete": func(t *rapid.T) {
				k := selectKey(b, keys.Draw(t, "key"))
				flats.Delete()
				delete(model, "flat/"+k)
			},
			"freeze": func(t *rapid.T) {
				f := b.Freeze()
				apply := maps.Clone(before)
				for _, name := range f.Tables() {
					told := map[string]bool{}
					f.EachChanged(name, func(e state.Entry, deleted bool) {
						if told[string(e.Key)] {
							t.Fatalf("%s: key %x is told twice", name, e.Key)
						}
						told[string(e.Key)] = true
						if k := fmt.Sprintf("%s/%x", name, e.Key); deleted {
							delete(apply, k)
						} else {
							apply[k] = string(e.Value)
						}
					})
				}
				if !maps.Equal(apply, model) {
					t.Fatalf("the changes since the last freeze do not lead from %v to %v but to %v", before, model, apply)
				}
				before = maps.Clone(model)
				frozen, wants = append(frozen, f), append(wants, before)
			},
			"restore": func(t *rapid.T) {
				parallelism := rapid.Int32Range(1, 5).Draw(t, "parallelism")
				object := state.Encode(b.Freeze(), groups)
				before = maps.Clone(model)
				all := map[string]string{}
				entries := 0
				for i := range parallelism {
					r := keygroup.RangeOf(i, parallelism, groups)
					c := New(groups, b.numeric)
					NewValue(c, "flat", state.Codec[int64](number{}))
					NewValue(c, "bytes", state.Codec[[]byte](raw{}))
					if err := state.Decode(object, groups, r, c.Load); err != nil {
						t.Fatal(err)
					}
					f := c.Freeze()
					if f.Changed() != 0 {
						t.Fatalf("%d entries count as changed after a restore", f.Changed())
					}
					entries += f.Entries()
					maps.Copy(all, content(f))
				}
				if !maps.Equal(all, model) || entries != len(model) {
					t.Fatalf("%d subtasks restore %v, not %v", parallelism, all, model)
				}
			},
			"": func(t *rapid.T) {
				n := 0
				for i, f := range frozen {
					if got := content(f); !maps.Equal(got, wants[i]) {
						t.Fatalf("freeze %d changed to %v from %v", i, got, wants[i])
					}
					n = f.Entries()
				}
				_ = n
				if len(frozen) > 2 {
					frozen, wants = frozen[1:], wants[1:]
				}
			},
		})
	})
}

type raw struct{}

func (raw) Append(dst []byte, v []byte) []byte { return append(dst, v...) }
func (raw) Decode(src []byte) ([]byte, error)  { return append([]byte(nil), src...), nil }

// If this failed, a barrier would stop a task for as long as its state is large.
func TestFreezeIsShort(t *testing.T) {
	b, v := filled(t, 10_000)
	best := time.Hour
	for range 20 {
		for k := range uint64(10_000) {
			b.SelectUint64(keygroup.OfUint64(k), k)
			v.Set(int64(k))
		}
		start := time.Now()
		f := b.Freeze()
		best = min(best, time.Since(start))
		if f.Changed() != 10_000 {
			t.Fatalf("%d changed", f.Changed())
		}
	}
	t.Logf("freeze with 10,000 changed keys: %v", best)
	if best > time.Millisecond {
		t.Fatalf("a freeze takes %v", best)
	}
}

func filled(t testing.TB, n uint64) (*Backend, state.Value[int64]) {
	b := New(groups, true)
	v, err := NewValue(b, "sum", state.Codec[int64](number{}))
	if err != nil {
		t.Fatal(err)
	}
	for k := range n {
		b.SelectUint64(keygroup.OfUint64(k), k)
		v.Set(1)
	}
	return b, v
}

// BenchmarkUpdate is one read and one write of a key, 10,000 keys, frozen now and then.
func BenchmarkUpdate(b *testing.B) {
	b.ReportAllocs()
	s, v := filled(b, 10_000)
	b.ResetTimer()
	for i := range b.N {
		k := uint64(i) * 7919 % 10_000
		s.SelectUint64(keygroup.OfUint64(k), k)
		x, _ := v.Get()
		v.Set(x + 1)
		if i%5_000_000 == 0 {
			s.Freeze()
		}
	}
}

// BenchmarkFreeze is the pause at a barrier with 10,000 keys changed since the one before. The pause is measured by itself: with
// the timer stopped for the changes, which take ten thousand times as long, the benchmark would run for hours.
func BenchmarkFreeze(b *testing.B) {
	s, v := filled(b, 10_000)
	var pause time.Duration
	for b.Loop() {
		for k := range uint64(10_000) {
			s.SelectUint64(keygroup.OfUint64(k), k)
			v.Set(int64(k))
		}
		began := time.Now()
		changed := s.Freeze().Changed()
		if pause += time.Since(began); changed != 10_000 {
			b.Fatal("keys are missing")
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(pause.Nanoseconds())/float64(b.N), "ns/pause")
}

// If this failed, a damaged or foreign object would be taken for state.
func TestDamagedSnapshotIsRefused(t *testing.T) {
	b, _ := filled(t, 50)
	good := state.Encode(b.Freeze(), groups)
	visit := func(state.Entry) error { return nil }
	if err := state.Decode(good, groups, keygroup.All(groups), visit); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x40
		if state.Decode(bad, groups, keygroup.All(groups), visit) == nil {
			t.Fatalf("byte %d was changed and the snapshot is taken", i)
		}
		if state.Decode(good[:i], groups, keygroup.All(groups), visit) == nil {
			t.Fatalf("a snapshot cut to %d bytes is taken", i)
		}
	}
	if state.Decode(good, groups*2, keygroup.All(groups*2), visit) == nil {
		t.Fatal("a snapshot with another number of key groups is taken")
	}
}
