package firetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka/firetest"
)

// fakeWorld strikes a kfake, which can move leaders and coordinators; its brokers do not die.
type fakeWorld struct{ embedded }

func (w fakeWorld) Replicated() bool { return true }

func (w fakeWorld) Strike(loop env.Loop, s firetest.Strike, done func(error)) {
	err := fmt.Errorf("kfake cannot %s", s)
	switch s.Op {
	case firetest.MoveLeader:
		err = w.embedded.MoveLeader(s.Partition)
	case firetest.MoveCoordinator:
		err = w.embedded.MoveCoordinator(s.ID)
	}
	loop.Post(func() { done(err) })
}

// The part of the script that kfake can play.
func TestFireOnKfake(t *testing.T) {
	t.Parallel()
	limits := firetest.Limits{Request: 10 * time.Second, Progress: time.Minute, Strike: time.Minute}
	report, err := firetest.Fire(fakeWorld{newEmbedded(t)}, 1, limits,
		firetest.LeaderMoved, firetest.CoordinatorMoved, firetest.Enlarged, firetest.LeaderMoved, firetest.CoordinatorMoved, firetest.LeaderMoved)
	t.Logf("%s", report)
	if err != nil {
		t.Fatal(err)
	}
}
