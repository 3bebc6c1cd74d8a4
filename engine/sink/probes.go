package sink

import "github.com/onefold/onefold/engine/probe"

// What a campaign must reach in this package.
var (
	PoolGrew         = probe.New("sink: id pool grew")
	EndUnproven      = probe.New("sink: an end waits for the replicas")
	PoolDry          = probe.New("sink: id pool dry")
	ResolveCommitted = probe.New("sink: resolve said committed")
	ResolveAborted   = probe.New("sink: resolve said aborted")
	UnstableWaited   = probe.New("sink: unstable lane waited for")
	WitnessUsed      = probe.New("sink: second witness used")
	SalvageDone      = probe.New("sink: salvage done")
	SalvageRestamped = probe.New("sink: salvage of records with the broker's timestamps")
	SalvageRepeated  = probe.New("sink: salvage cut short and repeated")
	StepBackTaken    = probe.New("sink: step back")
	RepairSent       = probe.New("sink: repair of a dropped marker")
	EndTxnRepeated   = probe.New("sink: EndTxn repeated after a lost reply")
	IDSpent          = probe.New("sink: epochs of an id nearly spent")
	LateToken        = probe.New("sink: token of an expired checkpoint committed later")
)
