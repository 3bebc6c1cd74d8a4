package simbroker

// Error codes of Kafka that occur here.
const (
	ok                           int16 = 0
	unknownServerError           int16 = -1
	offsetOutOfRange             int16 = 1
	corruptMessage               int16 = 2
	unknownTopicOrPartition      int16 = 3
	leaderNotAvailable           int16 = 5
	notLeader                    int16 = 6
	requestTimedOut              int16 = 7
	messageTooLarge              int16 = 10
	offsetMetadataTooLarge       int16 = 12
	networkException             int16 = 13
	coordinatorLoading           int16 = 14
	coordinatorNotAvailable      int16 = 15
	notCoordinator               int16 = 16
	invalidTopic                 int16 = 17
	notEnoughReplicas            int16 = 19
	notEnoughReplicasAfterAppend int16 = 20
	invalidAcks                  int16 = 21
	illegalGeneration            int16 = 22
	invalidGroupID               int16 = 24
	clusterAuthorization         int16 = 31
	unknownMember                int16 = 25
	unsupportedVersion           int16 = 35
	topicAlreadyExists           int16 = 36
	invalidPartitions            int16 = 37
	invalidReplication           int16 = 38
	invalidRequest               int16 = 42
	unsupportedFormat            int16 = 43
	outOfOrderSequence           int16 = 45
	invalidProducerEpoch         int16 = 47
	invalidTxnState              int16 = 48
	invalidProducerID            int16 = 49
	invalidTxnTimeout            int16 = 50
	concurrentTransactions       int16 = 51
	coordinatorFenced            int16 = 52
	idAuthorizationFailed        int16 = 53
	operationNotAttempted        int16 = 55
	groupIDNotFound              int16 = 69
	fencedLeaderEpoch            int16 = 74
	unknownLeaderEpoch           int16 = 75
	offsetNotAvailable           int16 = 78
	invalidRecord                int16 = 87
	unstableOffsetCommit         int16 = 88
	producerFenced               int16 = 90
	unknownTopicID               int16 = 100
	transactionalIDNotFound      int16 = 105
	transactionAbortable         int16 = 120
	invalidRegex                 int16 = 128
)
