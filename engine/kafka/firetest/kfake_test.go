package firetest_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

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
	kfakePace   = firetest.Pace{Request: 10 * time.Second, Read: 10 * time.Second, Delivery: 10 * time.Second, BackoffMin: time.Millisecond, BackoffMax: 4 * time.Millisecond, Hang: 30 * time.Second}
	silentPace  = firetest.Pace{Request: 100 * time.Millisecond, Read: 10 * time.Second, Delivery: 10 * time.Second, BackoffMin: time.Millisecond, BackoffMax: 4 * time.Millisecond, Hang: 30 * time.Second}
	lastingPace = firetest.Pace{Request: 10 * time.Second, Read: 50 * time.Millisecond, Delivery: 50 * time.Millisecond, BackoffMin: time.Millisecond, BackoffMax: 4 * time.Millisecond, Hang: 300 * time.Millisecond}
)

// The same cells over real connections, with the answers from kfake's hooks. That a fault which stays is given up on is asked
// of a few codes here, since it takes real time, and of all on the simulated broker.
func TestMatrixOnKfake(t *testing.T) {
	staying := []firetest.Fault{
		{Mode: firetest.Answered, Code: kafka.RequestTimedOut}, {Mode: firetest.Answered, Code: kafka.NotLeaderOrFollower},
		{Mode: firetest.Answered, Code: kafka.TopicAuthorization}, {Mode: firetest.Lost},
	}
	var loud, silent []firetest.Fault
	for _, f := range firetest.Faults() {
		if f.Mode == firetest.Silent {
			silent = append(silent, f)
		} else {
			loud = append(loud, f)
		}
	}
	var ran atomic.Int64
	var wait sync.WaitGroup
	next := make(chan int)
	for range 6 {
		b := newEmbedded(t)
		wait.Go(func() {
			for i := range next {
				call := firetest.Calls[i]
				check := func(number int, pace firetest.Pace, faults []firetest.Fault, lasting bool) {
					cells, err := firetest.Run(b, 3*i+number, call, pace, faults, lasting)
					if err != nil {
						t.Errorf("%s: %v", call.Name, err)
					}
					ran.Add(int64(len(cells)))
					for _, err := range firetest.Check(cells, lasting) {
						t.Errorf("lasting %v: %v", lasting, err)
					}
				}
				check(0, kfakePace, loud, false)
				check(1, silentPace, silent, false)
				if call.Lasts {
					check(2, lastingPace, staying, true)
				}
			}
		})
	}
	for i := range firetest.Calls {
		next <- i
	}
	close(next)
	wait.Wait()
	if t.Logf("%d cells", ran.Load()); ran.Load() < 1700 {
		t.Errorf("only %d cells ran", ran.Load())
	}
}
