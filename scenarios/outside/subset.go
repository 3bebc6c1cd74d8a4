package outside

import "github.com/onefold/onefold/faults"

// Brokers is what the brokers of a run are.
type Brokers uint8

// The brokers.
const (
	Kafka Brokers = iota // Apache Kafka, a process each
	Kfake                // `realrun broker`: one, which forgets when it is killed
)

// kinds says of each kind of fault how it is done from outside, or why it cannot be and what to write instead.
var kinds = [faults.KindCount]struct {
	how          string
	why, instead string
}{
	faults.CrashFault:     {how: "kill -9"},
	faults.PauseFault:     {how: "SIGSTOP, SIGCONT"},
	faults.PartitionFault: {how: "a proxy breaks the connections and lets nothing pass"},
	faults.OneWayFault:    {how: "a proxy breaks the connections and lets nothing pass in one direction"},
	faults.SlowLinkFault:  {how: "a proxy lets everything pass later"},
	faults.TimeoutFault:   {how: "SIGSTOP, SIGCONT"},

	faults.LoseRequestFault:     {why: "a proxy sees bytes, not requests", instead: "partition-one-way process1 brokers for 5s"},
	faults.LoseReplyFault:       {why: "a proxy sees bytes, not replies", instead: "partition-one-way brokers process1 for 5s, on k9"},
	faults.LateFault:            {why: "a proxy sees bytes, not replies", instead: "slow-link process1 brokers by 2s for 5s"},
	faults.RepeatFault:          {why: "bytes that come twice are no Kafka request", instead: "partition-one-way brokers process1 for 5s: the request is sent again"},
	faults.BlobSlowFault:        {why: "the store is a local directory", instead: "pause process1 at a hook between k5 and k7"},
	faults.BlobFailBeforeFault:  {why: "the store is a local directory", instead: "crash process1 at k6"},
	faults.BlobFailAfterFault:   {why: "the store is a local directory", instead: "crash process1 at k7"},
	faults.ClockFault:           {why: "all processes share the clock of this machine", instead: "`simrun repro` for this plan"},
	faults.MoveCoordinatorFault: {why: "Kafka moves coordinators by itself only", instead: "crash coordinator for 5s"},
	faults.MoveLeaderFault:      {why: "it would need the rights of an operator", instead: "crash leader for 5s"},
	faults.NoLeaderFault:        {why: "it would need the rights of an operator", instead: "crash leader for 5s with --brokers 1"},
	faults.StallReplicaFault:    {why: "the links between brokers are their own", instead: "pause broker1 for 5s"},
	faults.TxnLogFault:          {why: "it happens inside of a broker", instead: "crash coordinator for 5s"},
	faults.UpgradeFault:         {why: "one folder of jars is one release", instead: "--kafka-jars DIR of another release"},
	faults.FinalizeFault:        {why: "one folder of jars is one release", instead: "--kafka-jars DIR of another release"},
	faults.SlowOperatorFault:    {why: "nothing outside of a process slows one operator", instead: "pause process1 for 2s"},
}

// How says how a kind of fault is done from outside; "" when it is not.
func How(k faults.Kind) string { return kinds[k].how }

// hooks that are passed inside of a broker cannot be seen.
var brokerHooks = []string{"k10", "k11", "k12"}

// engines are those that can be told from a sound one by what is in a topic after a kill, and the flags of `realrun run` that
// make it so; without flags only the program of its tests has the engine. What the other ones get wrong is remembered in memory,
// which a kill erases, or is the judge's own reader's.
var engines = []struct {
	name  string
	flags []string
}{
	{"sound", nil},
	{"at-least-once", []string{"--guarantee", "at-least-once"}},
	{"no-guarantee", nil},
	{"timeout-believed", nil},
	{"no-fencing", nil},
	{"no-lock", nil},
	{"no-quarantine", nil},
	{"no-confirm", nil},
}

// EngineFlags are what `realrun run` is told to be an engine.
func EngineFlags(name string) []string {
	for _, e := range engines {
		switch {
		case e.name != name:
		case name == "sound" || e.flags != nil:
			return e.flags
		}
	}
	return []string{"--engine", name}
}

func engineNames() []string {
	var names []string
	for _, e := range engines {
		names = append(names, e.name)
	}
	return names
}

// world says which settings of the world line mean something here.
var world = map[string]setting{
	"taskmanagers": used, "jobmanagers": used, "brokers": used, "partitions": used, "records": used, "accounts": used,
	"parallelism": used, "burn": used, "interval": used, "checkpoint-timeout": used, "transaction-timeout": used,
	"replication": simulated, "min-insync": simulated, "slots": simulated, "profile": simulated, "scan": simulated, "budget": simulated, "cost": simulated, "log-keep": simulated,
}

type setting uint8

const (
	unknown   setting = iota // it would change what is judged, and cannot be had
	used                     // the processes get it
	simulated                // it shapes the simulated world; the real one is as it is
)
