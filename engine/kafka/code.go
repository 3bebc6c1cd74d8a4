package kafka

import "fmt"

// Code is Kafka's error code of one answer. The zero Code is success.
type Code int16

// The codes that occur in the requests of this package.
const (
	OK                          Code = 0
	UnknownServerError          Code = -1
	OffsetOutOfRange            Code = 1
	CorruptMessage              Code = 2
	UnknownTopicOrPartition     Code = 3
	LeaderNotAvailable          Code = 5
	NotLeaderOrFollower         Code = 6
	RequestTimedOut             Code = 7
	ReplicaNotAvailable         Code = 9
	MessageTooLarge             Code = 10
	OffsetMetadataTooLarge      Code = 12
	NetworkException            Code = 13
	CoordinatorLoadInProgress   Code = 14
	CoordinatorNotAvailable     Code = 15
	NotCoordinator              Code = 16
	InvalidTopic                Code = 17
	RecordListTooLarge          Code = 18
	NotEnoughReplicas           Code = 19
	NotEnoughReplicasAfter      Code = 20
	IllegalGeneration           Code = 22
	InvalidGroupID              Code = 24
	UnknownMemberID             Code = 25
	TopicAuthorization          Code = 29
	GroupAuthorization          Code = 30
	ClusterAuthorization        Code = 31
	UnsupportedVersion          Code = 35
	TopicAlreadyExists          Code = 36
	InvalidPartitions           Code = 37
	InvalidReplicationFactor    Code = 38
	InvalidConfig               Code = 40
	NotController               Code = 41
	InvalidRequest              Code = 42
	UnsupportedForMessageFormat Code = 43
	PolicyViolation             Code = 44
	OutOfOrderSequence          Code = 45
	DuplicateSequence           Code = 46
	InvalidProducerEpoch        Code = 47
	InvalidTxnState             Code = 48
	InvalidProducerIDMapping    Code = 49
	InvalidTransactionTimeout   Code = 50
	ConcurrentTransactions      Code = 51
	TransactionCoordFenced      Code = 52
	TransactionalIDAuth         Code = 53
	OperationNotAttempted       Code = 55
	KafkaStorageError           Code = 56
	UnknownProducerID           Code = 59
	GroupIDNotFound             Code = 69
	ListenerNotFound            Code = 72
	FencedLeaderEpoch           Code = 74
	UnknownLeaderEpoch          Code = 75
	UnsupportedCompression      Code = 76
	OffsetNotAvailable          Code = 78
	FencedInstanceID            Code = 82
	InvalidRecord               Code = 87
	UnstableOffsetCommit        Code = 88
	ThrottlingQuotaExceeded     Code = 89
	ProducerFenced              Code = 90
	UnknownTopicID              Code = 100
	InconsistentTopicID         Code = 103
	TransactionalIDNotFound     Code = 105
	StaleMemberEpoch            Code = 113
	TransactionAbortable        Code = 120
)

// Class says what a code asks for, as a rule; a caller for whom a code means more than its class (EndTxn, Fetch) looks at
// the code.
type Class uint8

// The classes.
const (
	Success         Class = iota
	Retry                 // the same request again; its outcome may be unknown (7, 13, 20)
	FindCoordinator       // the same request to the right coordinator
	RefreshLeader         // the same request to the right leader
	Abort                 // this transaction is over, its producer may go on
	Fenced                // this producer identity is finished
	Decide                // a question to other witnesses
	Refused               // a mistake of configuration, rights or code: no repetition helps
)

var classNames = [...]string{"success", "retry", "find coordinator", "refresh leader", "abort", "fenced", "decide", "refused"}

func (c Class) String() string { return classNames[c] }

type codeInfo struct {
	code  Code
	name  string
	class Class
}

// codes is sorted by code.
var codes = []codeInfo{
	{UnknownServerError, "UNKNOWN_SERVER_ERROR", Refused},
	{OK, "NONE", Success},
	{OffsetOutOfRange, "OFFSET_OUT_OF_RANGE", Decide},
	{CorruptMessage, "CORRUPT_MESSAGE", Retry},
	{UnknownTopicOrPartition, "UNKNOWN_TOPIC_OR_PARTITION", RefreshLeader},
	{LeaderNotAvailable, "LEADER_NOT_AVAILABLE", RefreshLeader},
	{NotLeaderOrFollower, "NOT_LEADER_OR_FOLLOWER", RefreshLeader},
	{RequestTimedOut, "REQUEST_TIMED_OUT", Retry},
	{ReplicaNotAvailable, "REPLICA_NOT_AVAILABLE", RefreshLeader},
	{MessageTooLarge, "MESSAGE_TOO_LARGE", Refused},
	{OffsetMetadataTooLarge, "OFFSET_METADATA_TOO_LARGE", Refused},
	{NetworkException, "NETWORK_EXCEPTION", Retry},
	{CoordinatorLoadInProgress, "COORDINATOR_LOAD_IN_PROGRESS", Retry},
	{CoordinatorNotAvailable, "COORDINATOR_NOT_AVAILABLE", FindCoordinator},
	{NotCoordinator, "NOT_COORDINATOR", FindCoordinator},
	{InvalidTopic, "INVALID_TOPIC_EXCEPTION", Refused},
	{RecordListTooLarge, "RECORD_LIST_TOO_LARGE", Refused},
	{NotEnoughReplicas, "NOT_ENOUGH_REPLICAS", Retry},
	{NotEnoughReplicasAfter, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", Retry},
	{IllegalGeneration, "ILLEGAL_GENERATION", Abort},
	{InvalidGroupID, "INVALID_GROUP_ID", Refused},
	{UnknownMemberID, "UNKNOWN_MEMBER_ID", Abort},
	{TopicAuthorization, "TOPIC_AUTHORIZATION_FAILED", Refused},
	{GroupAuthorization, "GROUP_AUTHORIZATION_FAILED", Refused},
	{ClusterAuthorization, "CLUSTER_AUTHORIZATION_FAILED", Refused},
	{UnsupportedVersion, "UNSUPPORTED_VERSION", Refused},
	{TopicAlreadyExists, "TOPIC_ALREADY_EXISTS", Refused},
	{InvalidPartitions, "INVALID_PARTITIONS", Refused},
	{InvalidReplicationFactor, "INVALID_REPLICATION_FACTOR", Refused},
	{InvalidConfig, "INVALID_CONFIG", Refused},
	{NotController, "NOT_CONTROLLER", RefreshLeader},
	{InvalidRequest, "INVALID_REQUEST", Refused},
	{UnsupportedForMessageFormat, "UNSUPPORTED_FOR_MESSAGE_FORMAT", Refused},
	{PolicyViolation, "POLICY_VIOLATION", Refused},
	{OutOfOrderSequence, "OUT_OF_ORDER_SEQUENCE_NUMBER", Abort},
	{DuplicateSequence, "DUPLICATE_SEQUENCE_NUMBER", Abort},
	{InvalidProducerEpoch, "INVALID_PRODUCER_EPOCH", Abort},
	{InvalidTxnState, "INVALID_TXN_STATE", Decide},
	{InvalidProducerIDMapping, "INVALID_PRODUCER_ID_MAPPING", Decide},
	{InvalidTransactionTimeout, "INVALID_TRANSACTION_TIMEOUT", Refused},
	{ConcurrentTransactions, "CONCURRENT_TRANSACTIONS", Retry},
	{TransactionCoordFenced, "TRANSACTION_COORDINATOR_FENCED", Decide},
	{TransactionalIDAuth, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", Refused},
	{OperationNotAttempted, "OPERATION_NOT_ATTEMPTED", RefreshLeader},
	{KafkaStorageError, "KAFKA_STORAGE_ERROR", RefreshLeader},
	{UnknownProducerID, "UNKNOWN_PRODUCER_ID", Abort},
	{GroupIDNotFound, "GROUP_ID_NOT_FOUND", Abort},
	{ListenerNotFound, "LISTENER_NOT_FOUND", RefreshLeader},
	{FencedLeaderEpoch, "FENCED_LEADER_EPOCH", RefreshLeader},
	{UnknownLeaderEpoch, "UNKNOWN_LEADER_EPOCH", RefreshLeader},
	{UnsupportedCompression, "UNSUPPORTED_COMPRESSION_TYPE", Refused},
	{OffsetNotAvailable, "OFFSET_NOT_AVAILABLE", Retry},
	{FencedInstanceID, "FENCED_INSTANCE_ID", Abort},
	{InvalidRecord, "INVALID_RECORD", Refused},
	{UnstableOffsetCommit, "UNSTABLE_OFFSET_COMMIT", Retry},
	{ThrottlingQuotaExceeded, "THROTTLING_QUOTA_EXCEEDED", Retry},
	{ProducerFenced, "PRODUCER_FENCED", Fenced},
	{UnknownTopicID, "UNKNOWN_TOPIC_ID", RefreshLeader},
	{InconsistentTopicID, "INCONSISTENT_TOPIC_ID", RefreshLeader},
	{TransactionalIDNotFound, "TRANSACTIONAL_ID_NOT_FOUND", Decide},
	{StaleMemberEpoch, "STALE_MEMBER_EPOCH", Abort},
	{TransactionAbortable, "TRANSACTION_ABORTABLE", Abort},
}

func (c Code) info() (codeInfo, bool) {
	for _, i := range codes {
		if i.code == c {
			return i, true
		}
	}
	return codeInfo{}, false
}

// Class is what the code asks for; an unknown code is Refused.
func (c Code) Class() Class {
	if c == OK {
		return Success
	}
	if i, ok := c.info(); ok {
		return i.class
	}
	return Refused
}

// String is Kafka's name of the code with its number.
func (c Code) String() string {
	if i, ok := c.info(); ok {
		return fmt.Sprintf("%s (%d)", i.name, int16(c))
	}
	return fmt.Sprintf("CODE (%d)", int16(c))
}

// Err is nil for OK, else an error that says the code. errors.Is(err, code) finds it again.
func (c Code) Err() error {
	if c == OK {
		return nil
	}
	return c
}

// Error makes a Code an error.
func (c Code) Error() string { return c.String() }

// Codes are the codes that this package has names for, success left out, ascending.
func Codes() []Code {
	var all []Code
	for _, i := range codes {
		if i.code != OK {
			all = append(all, i.code)
		}
	}
	return all
}
