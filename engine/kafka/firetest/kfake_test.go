package firetest_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/kafka/firetest"
	"github.com/onefold/onefold/engine/real/kafkatest"
	"github.com/onefold/onefold/engine/real/realstage"
)

// embedded is a kfake of three brokers that answers what it is told to.
type embedded struct {
	*realstage.Backend
	cluster *kfake.Cluster
}

func newEmbedded(t testing.TB) embedded {
	c := kafkatest.Embedded(t)
	b, err := realstage.New("kfake", c.ListenAddrs())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return embedded{b, c}
}

// Hook implements firetest.Wire.
func (e embedded) Hook(key int16, answer func(kmsg.Request) (kmsg.Response, error, bool)) (unhook func()) {
	var off atomic.Bool
	e.cluster.ControlKey(key, func(req kmsg.Request) (kmsg.Response, error, bool) {
		if off.Load() {
			e.cluster.DropControl()
			return nil, nil, false
		}
		e.cluster.KeepControl()
		return answer(req)
	})
	return func() { off.Store(true) }
}

// MoveLeader implements stage.Mover.
func (e embedded) MoveLeader(tp id.TopicPartition) error {
	at := e.cluster.LeaderFor(tp.Topic, tp.Partition)
	return e.cluster.MoveTopicPartition(tp.Topic, tp.Partition, (at+1)%3)
}

// MoveCoordinator implements stage.Mover.
func (e embedded) MoveCoordinator(string) error {
	e.cluster.RehashCoordinators()
	return nil
}

// Real time: pauses are short. An answer is waited for long where it comes, and not where it does not.
var (
	kfakePace   = firetest.Pace{Request: 20 * time.Second, Read: 20 * time.Second, Delivery: 20 * time.Second, BackoffMin: time.Millisecond, BackoffMax: 4 * time.Millisecond, Hang: time.Minute}
	silentPace  = firetest.Pace{Request: time.Second, Read: 20 * time.Second, Delivery: 20 * time.Second, BackoffMin: time.Millisecond, BackoffMax: 4 * time.Millisecond, Hang: time.Minute}
	lastingPace = firetest.Pace{Request: 20 * time.Second, Read: time.Second, Delivery: time.Second, BackoffMin: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, Hang: 1500 * time.Millisecond}
)

// The same cells over real connections, with the answers from kfake's hooks.
func TestMatrixOnKfake(t *testing.T) {
	t.Parallel()
	var faults []firetest.Fault
	for _, f := range firetest.Faults() {
		if f.Mode != firetest.Silent {
			faults = append(faults, f)
		}
	}
	var m matrixRun
	next := make(chan int)
	for range 6 {
		b := newEmbedded(t)
		m.wait.Go(func() {
			for i := range next {
				m.check(t, b, i, firetest.Calls[i], kfakePace, faults, false)
			}
		})
	}
	for i := range firetest.Calls {
		next <- i
	}
	close(next)
	m.wait.Wait()
	if t.Logf("%d cells", m.ran.Load()); m.ran.Load() < 1700 {
		t.Errorf("only %d cells ran", m.ran.Load())
	}
}

// Silence, and faults that stay, cost real time: all at once. The simulated broker is asked every code that stays.
func TestMatrixOfWaitsOnKfake(t *testing.T) {
	t.Parallel()
	silence := []firetest.Fault{{Mode: firetest.Silent}}
	staying := []firetest.Fault{
		{Mode: firetest.Answered, Code: kafka.RequestTimedOut}, {Mode: firetest.Answered, Code: kafka.NotLeaderOrFollower}, {Mode: firetest.Lost},
	}
	cluster := kafkatest.Embedded(t)
	var m matrixRun
	for i, call := range firetest.Calls {
		m.wait.Go(func() {
			b, err := realstage.New("kfake", cluster.ListenAddrs())
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			m.check(t, b, 2*i, call, silentPace, silence, false)
			if call.Lasts {
				m.check(t, b, 2*i+1, call, lastingPace, staying, true)
			}
		})
	}
	m.wait.Wait()
	t.Logf("%d cells", m.ran.Load())
}

// matrixRun is cells that run side by side.
type matrixRun struct {
	wait sync.WaitGroup
	ran  atomic.Int64
}

func (m *matrixRun) check(t *testing.T, b stage.Backend, number int, call firetest.Call, pace firetest.Pace, faults []firetest.Fault, lasting bool) {
	cells, err := firetest.Run(b, number, call, pace, faults, lasting)
	if err != nil {
		t.Errorf("%s: %v", call.Name, err)
	}
	m.ran.Add(int64(len(cells)))
	for _, err := range firetest.Check(cells, lasting) {
		t.Errorf("lasting %v: %v", lasting, err)
	}
}
