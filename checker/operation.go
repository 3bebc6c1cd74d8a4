package checker

// LogOperation is one call to the store of the job log, as its caller saw it. Client is one incarnation of a writer: a
// process that starts again is another.
type LogOperation struct {
	Client   int
	Call     int64 // nanoseconds
	Return   int64
	Kind     LogKind
	Position uint64
	Nonce    uint64    // of the entry created, or of the one read
	Result   LogResult // of Create and Delete: Done, Exists, Missing or Unknown; of Read: Done or Missing
}

// LogKind is a kind of call.
type LogKind uint8

// The calls.
const (
	LogCreate LogKind = iota
	LogRead
	LogDelete
)

// LogResult is what the caller was told.
type LogResult uint8

// The results.
const (
	LogDone LogResult = iota
	LogExists
	LogMissing
	LogUnknown
)

// TransactionOperation is one call to the transaction coordinator, as its caller saw it.
type TransactionOperation struct {
	Client        int
	Call, Return  int64
	ID            string // transactional id
	Kind          TransactionKind
	ProducerID    int64 // sent; of Initialise: received
	ProducerEpoch int16
	Result        TransactionResult
}

// TransactionKind is a kind of call.
type TransactionKind uint8

// The calls.
const (
	Initialise TransactionKind = iota // fences and aborts what is open; answers an identity
	Write                             // a produce, or an offset commit, or a partition added
	EndCommit
	EndAbort
	TimedOut // the coordinator aborted by itself; ProducerID and ProducerEpoch of the victim
	// FencedInMemory: the coordinator has moved the epoch of an open transaction in its memory only, because the log did not
	// take the abort; ProducerID and ProducerEpoch of the victim. TxnInvalidState: that memory is gone.
	FencedInMemory
	ObservedCommit // at the end a partition shows COMMIT for this identity
	ObservedAbort  // ... ABORT
)

// TransactionResult is what the caller was told.
type TransactionResult uint8

// The results.
const (
	TxnDone         TransactionResult = iota
	TxnFenced                         // a newer identity owns the id
	TxnInvalidState                   // any other definite refusal
	TxnUnknown                        // may have had its effect, may have it later
)
