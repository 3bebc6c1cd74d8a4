package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios/claim"
	"github.com/onefold/onefold/scenarios/controls"
	"github.com/onefold/onefold/scenarios/jobs"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

func isExists(err error) bool   { return errors.Is(err, blob.ErrExists) }
func isNotFound(err error) bool { return errors.Is(err, blob.ErrNotFound) }

// Options of a run.
type Options struct {
	Fast      bool // without expensive checks
	KeepTrace bool
	// Watch is called with the world before it runs, by those who want to look while it does.
	Watch func(*World)

	past bool // the run is another one's past: see World.past
}

// Result is what became of a run.
type Result struct {
	Plan     faults.Plan
	Report   checker.Report
	Outcomes []faults.Outcome // of the plan's faults, in its order
	Probes   []int            // reached
	Hash     uint64           // of the trace
	Entries  uint64           // of the trace
	Virtual  time.Duration
	Settle   string   // when the burn ended, when the world came to rest, and by when it had to
	Events   []string // what the JobManagers told, one line each
	Wrong    bool     // the verdict is not one that the plan expects
	World    *World
}

// PlanOf expands a seed into the plan of a scenario.
func PlanOf(s Scenario, seed uint64, engine string) (faults.Plan, error) {
	return PlanOn(s, seed, engine, "")
}

// PlanOn is PlanOf on brokers of one release; "" is whatever the scenario, the engine or the seed says.
func PlanOn(s Scenario, seed uint64, engine, profile string) (faults.Plan, error) {
	if s.Script != "" {
		p, err := faults.Parse(s.Script)
		p.Seed = seed
		if profile != "" {
			p.Set("profile", profile)
		}
		return p, err
	}
	e, _ := controls.Find(engine)
	shape := defaultShape()
	for _, world := range [][]faults.Setting{s.World, e.World} {
		if err := shape.apply(world); err != nil {
			return faults.Plan{}, err
		}
	}
	sound := e.Name == controls.Sound().Name
	switch {
	case profile != "":
		shape.Profile = profile
	case s.Rolling:
		shape.Profile = rollingFrom(seed)
	case shape.Profile == defaultShape().Profile && sound:
		shape.Profile = profileOf(seed)
	}
	if shape.MaxEpoch == defaultShape().MaxEpoch && sound {
		shape.MaxEpoch = maxEpochOf(seed, shape.Profile)
	}
	if shape.Replication == defaultShape().Replication && sound {
		shape.Replication, shape.MinISR = replicationOf(seed, shape.Brokers)
	}
	if sound && sim.Hash(seed, drawAppendTime, 0, 0, 0)%8 == 0 {
		shape.AppendTime = 1
	}
	shape.Meddle = e.Meddle
	job, ok := jobs.Find(s.Job)
	if !ok {
		return faults.Plan{}, fmt.Errorf("scenario %s: there is no job %q", s.Name, s.Job)
	}
	params := faults.Params{
		Scenario: s.Name, Seed: seed, World: settingsOf(shape), Engine: e.Name, Nodes: shape.nodes(),
		Burn: shape.Burn, Checkpoints: int(shape.Burn / shape.Interval),
		TransactionTimeout: shape.TransactionTimeout + shape.Scan, Off: s.Off,
		Replicated: shape.Replication > 1, Releases: releasesFrom(shape),
	}
	for _, t := range job.Outputs {
		for p := range shape.Partitions {
			params.Partitions = append(params.Partitions, faults.PartitionName{Topic: t, Partition: int32(p)})
		}
	}
	own := seed ^ sim.NameKey(s.Name) // scenarios do not share their plans
	p := faults.Swarm(func(kind, a, b, c uint64) uint64 { return sim.Hash(own, env.Kind(kind), a, b, c) }, params)
	if e.Name == controls.Sound().Name && s.Guarantee == operator.ExactlyOnce && len(s.Expect) == 0 && refused(shape.Profile) {
		p.Expect = []string{checker.Refused.String()}
	}
	if s.Rolling {
		p.Faults = append(rolling(seed, shape), p.Faults...)
	}
	for _, line := range e.Favour {
		f, err := faults.ParseFault(line)
		if err != nil {
			return p, fmt.Errorf("engine %s favours %q: %w", e.Name, line, err)
		}
		p.Faults = append(p.Faults, f)
	}
	return p, nil
}

// refused reports whether the engine must not accept brokers of a release: without verification a late record of a dead
// process can open a transaction that nobody ends.
func refused(profile string) bool {
	p, _ := simbroker.ProfileOf(profile)
	return !p.Verify
}

// profileOf draws the release of the brokers: mostly the newest, and each of the others that the engine accepts.
func profileOf(seed uint64) string {
	switch sim.Hash(seed, drawProfile, 0, 0, 0) % 32 {
	case 0, 1:
		return "k41"
	case 2, 3:
		return "k39"
	case 4, 5:
		return "k44-tv1"
	case 6:
		return "k400"
	case 7:
		return "k401"
	case 8, 9:
		return "k43"
	case 10:
		return "k42"
	case 11:
		return "k37"
	case 12:
		return "k44-tv0"
	}
	return defaultShape().Profile
}

// dropsMarkers tells whether a release drops the marker of a partition without a leader (KAFKA-20734).
func dropsMarkers(release string) bool {
	p, ok := simbroker.ProfileOf(release)
	return ok && p.DropMarkerNoLeader
}

// releasesFrom are what brokers may be upgraded to: with few epochs, none that drops markers.
func releasesFrom(s Shape) []string {
	list := simbroker.ProfilesFrom(s.Profile)
	if s.MaxEpoch < 64 {
		list = slices.DeleteFunc(list, func(release string) bool { return release != s.Profile && dropsMarkers(release) })
	}
	return list
}

// maxEpochOf draws the highest epoch of a producer id: mostly Kafka's own, now and then one that is reached. Where markers are
// dropped it is above the epochs that the engine leaves to whoever fences (64): fencing alone must not use up an id, since the
// last epoch moves it to another producer id, and nothing names what the old one has open.
func maxEpochOf(seed uint64, release string) int {
	v := sim.Hash(seed, drawMaxEpoch, 0, 0, 0)
	few := int(4 + v>>8%20)
	switch {
	case v%8 != 0:
		return defaultShape().MaxEpoch
	case dropsMarkers(release):
		return 64 + few
	}
	return few
}

// replicationOf draws how many copies partitions have: three, of which two must be in sync, or one. With one, a partition
// has no leader while its broker is down. A plan that visits a fault of replicas has some.
func replicationOf(seed uint64, brokers int) (copies, minISR int) {
	if brokers >= 3 && (faults.Visits(seed, faults.StallReplicaFault) || sim.Hash(seed, drawReplication, 0, 0, 0)%2 == 0) {
		return 3, 2
	}
	return 1, 1
}

// Run repeats a run from its plan. The error is about the plan; a verdict is never an error.
func Run(p faults.Plan, o Options) (*Result, error) {
	w, err := newWorld(p, o)
	if err != nil {
		return nil, err
	}
	defer w.Sim.Close()
	if o.Watch != nil {
		o.Watch(w)
	}
	w.run()
	return w.judge(), nil
}

// run burns, heals and settles.
func (w *World) run() {
	w.follow()
	w.generate()
	w.stages.begin()
	w.Nemesis.Arm()
	w.Sim.Run(env.Instant(w.Shape.Burn))
	for until := w.Nemesis.BurnUntil(w.Shape.Burn); time.Duration(w.Sim.Now()) < until && w.Sim.Failure() == nil; until = w.Nemesis.BurnUntil(w.Shape.Burn) {
		w.Sim.Run(env.Instant(until)) // a commit that is held back is let go when its time has come, not before
	}
	w.heal()
	burnt, limit := w.Sim.Now(), w.Sim.Now().Add(w.bound())
	for w.Sim.Now() < limit && w.Sim.Failure() == nil {
		if w.waitsFor() == "" {
			break
		}
		w.Sim.RunFor(500 * time.Millisecond)
	}
	w.settle = fmt.Sprintf("burn until %v, at rest at %v, to be so by %v", time.Duration(burnt).Round(time.Millisecond),
		time.Duration(w.Sim.Now()).Round(time.Millisecond), time.Duration(limit).Round(time.Millisecond))
	if w.guarantee == operator.AtMostOnce && w.Sim.Failure() == nil {
		w.Sim.RunFor(2 * w.Shape.Interval) // the last checkpoint covers what is set aside, not what is done
	}
	w.look()
}

// heal ends the burn: all faults end, and what is down comes back.
func (w *World) heal() {
	w.healed = true
	w.Nemesis.Heal()
	w.Sim.MendAll()
	for _, n := range w.Sim.Nodes() {
		n.Resume()
		n.Start()
	}
}

// maxUnstable is how long an open transaction may hold a last stable offset in a healed world: a zombie's transaction is
// aborted by its timeout, all others by the next restore.
const maxUnstable = 55 * time.Second

// bound is how long a healed world may take to settle.
func (w *World) bound() time.Duration {
	restarts := time.Duration(len(w.Plan.Faults) + 3)
	return w.Shape.TransactionTimeout + w.Shape.Scan + (toleratedFailures+2)*(w.Shape.Interval+w.Shape.CheckpointTimeout) + restarts*(backoffMax+heartbeatTimeout) + 30*time.Second
}

// waitsFor says what a healed world still waits for; "" when it has settled: every input is below a confirmed position and
// nothing is open, or the job has stopped for good.
func (w *World) waitsFor() string {
	if w.ended != "" || w.lost {
		return ""
	}
	if wait := w.stages.left(); wait != "" {
		return wait
	}
	if !w.generated.ended || w.generated.open > 0 {
		return "input that is still being written"
	}
	state, ok := w.newest()
	if !ok {
		return "a job log"
	}
	if state.Completed == nil {
		return "a first checkpoint"
	}
	if len(state.Undecided) > 0 {
		return fmt.Sprintf("the decision of %d transactions, first %v", len(state.Undecided), state.Undecided[0])
	}
	if wait := w.behind(state.Completed.Manifest); wait != "" {
		return wait
	}
	if settled, wait := w.Cluster.Settled(); !settled {
		return wait
	}
	return ""
}

// behind says which input the newest completed checkpoint does not cover.
func (w *World) behind(manifest blob.Key) string {
	positions := claim.Positions(manifest, w.object(manifest))
	for _, t := range w.History.Topics {
		if t.Role != checker.Input {
			continue
		}
		for p := range t.Partitions {
			at, end := int64(-1), w.Cluster.Bounds(t.Name, p).Stable
			for _, x := range positions {
				if x.Topic == t.Name && x.Partition == p {
					at = x.Position
				}
			}
			if at < end {
				return fmt.Sprintf("a checkpoint with %s/%d at %d; the newest has %d", t.Name, p, end, at)
			}
		}
	}
	return ""
}

// judge fills the history and hands it to the checker.
func (w *World) judge() *Result {
	h := w.History
	w.truth()
	w.claims()
	w.transactions()
	wait := w.waitsFor()
	h.Run.Settled, h.Run.Waits = wait == "", wait
	if f := w.Sim.Failure(); f != nil {
		h.Run.Panic = f.Error()
	}
	r := &Result{
		Plan: w.Plan, Outcomes: w.Nemesis.Outcomes(), Probes: w.Sim.Reached(), Hash: w.Sim.TraceHash(), Entries: w.Sim.Entries(),
		Virtual: time.Duration(w.Sim.Now()), Settle: w.settle, Events: w.events, World: w,
	}
	r.Report = checker.Check(h, w.Oracle, checker.Options{
		Complete:    wait == "" && !w.lost && h.Run.Refused == "",
		MaxUnstable: int64(maxUnstable),
		AtLeastOnce: w.Scenario.Guarantee == operator.AtLeastOnce && !w.Scenario.Strict || w.Scenario.Repeats,
		AtMostOnce:  w.Scenario.Guarantee == operator.AtMostOnce && !w.Scenario.Strict,
	})
	if w.Scenario.Tell != nil {
		w.Story = w.Scenario.Tell(r)
	}
	r.Wrong = !w.expected(r.Report.Verdict)
	return r
}

// expected reports whether a verdict is what the plan, or else the scenario, expects.
func (w *World) expected(v checker.Verdict) bool {
	if len(w.Plan.Expect) > 0 {
		for _, e := range w.Plan.Expect {
			if strings.EqualFold(e, v.String()) {
				return true
			}
		}
		return false
	}
	for _, e := range w.Scenario.Expect {
		if e == v {
			return true
		}
	}
	if len(w.Scenario.Expect) > 0 {
		return false
	}
	return v == checker.Clean || v == checker.LoudLoss && w.Scenario.LossAllowed
}
