package localkafka

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Config sets up a Cluster. Zero values are replaced by the defaults named.
type Config struct {
	// Jars is the folder with the jars of a Kafka release and all that they need; see Jars.
	Jars string
	// Nodes is how many brokers there are, each of which is a controller too. Default 1. From 3 on topics have three replicas
	// and min.insync.replicas is 2.
	Nodes int
	// Port is where broker 0 listens on 127.0.0.1. Broker i listens at Port+i, its controller at Port+Nodes+i. Default 19592.
	Port int
	// Settings are more server properties as NAME=VALUE; of several for one name the last counts.
	Settings []string
	// Features are the levels to format with, as NAME=LEVEL ("transaction.version=1"), where they are not to be the release's
	// own. They cannot be given to releases before 4.0.
	Features []string
	// Dir is where data and logs lie; it is removed at Close. Default: a new folder for temporary files.
	Dir string
	// Heap is the largest heap of each broker, as java takes it. Default 320m.
	Heap string
	// Java is the command. Default: the one of JAVA_HOME, else "java".
	Java string

	flags []string // more of the virtual machine
}

func (c Config) withDefaults() Config {
	if c.Nodes == 0 {
		c.Nodes = 1
	}
	if c.Port == 0 {
		c.Port = 19592
	}
	if c.Heap == "" {
		c.Heap = "320m"
	}
	if c.Java == "" {
		c.Java = "java"
		if home := os.Getenv("JAVA_HOME"); home != "" {
			c.Java = filepath.Join(home, "bin", "java")
		}
	}
	return c
}

// check says what is missing on this machine before anything is started.
func (c Config) check() error {
	if c.Nodes < 1 || c.Port < 1 || c.Port+2*c.Nodes > 65535 {
		return fmt.Errorf("%d brokers from port %d on: at least one broker, and ports below 65536", c.Nodes, c.Port)
	}
	if _, err := exec.LookPath(c.Java); err != nil {
		return fmt.Errorf("no java (%s): install a JRE of at least 17 (apt-get install default-jre-headless) or set JAVA_HOME", c.Java)
	}
	if err := checkJars(c.Jars); err != nil {
		return err
	}
	for _, s := range slices.Concat(c.Settings, c.Features) {
		if name, _, ok := strings.Cut(s, "="); !ok || name == "" {
			return fmt.Errorf("setting %q is not of the form NAME=VALUE", s)
		}
	}
	for i := range c.Nodes {
		for _, a := range []string{c.address(i), c.controller(i)} {
			l, err := net.Listen("tcp", a)
			if err != nil {
				return fmt.Errorf("%s is taken (%w): another broker may run there; choose another Port", a, err)
			}
			if err := l.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Config) address(i int) string { return "127.0.0.1:" + strconv.Itoa(c.Port+i) }

func (c Config) controller(i int) string { return "127.0.0.1:" + strconv.Itoa(c.Port+c.Nodes+i) }

// properties are the server properties of one broker.
func (c Config) properties(i int, dir string) string {
	copies, insync := 1, 1
	if c.Nodes >= 3 {
		copies, insync = 3, 2
	}
	var voters []string
	for n := range c.Nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", n, c.controller(n)))
	}
	return fmt.Sprintf(`node.id=%[1]d
process.roles=broker,controller
controller.quorum.voters=%[2]s
controller.listener.names=CONTROL
listeners=CLIENT://%[3]s,CONTROL://%[4]s
advertised.listeners=CLIENT://%[3]s
inter.broker.listener.name=CLIENT
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROL:PLAINTEXT
log.dirs=%[5]s
auto.create.topics.enable=false
auto.leader.rebalance.enable=false
default.replication.factor=%[6]d
min.insync.replicas=%[7]d
offsets.topic.replication.factor=%[6]d
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=%[6]d
transaction.state.log.min.isr=%[7]d
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor=%[6]d
share.coordinator.state.topic.min.isr=%[7]d
share.coordinator.state.topic.num.partitions=1
transaction.max.timeout.ms=900000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
# A dead broker is noticed in seconds; one that comes back is refused until its old session has ended.
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=1500
replica.lag.time.max.ms=5000
log.cleaner.dedupe.buffer.size=8388608
num.network.threads=2
num.io.threads=4
%[8]s
`, i, strings.Join(voters, ","), c.address(i), c.controller(i), filepath.Join(dir, "data"), copies, insync, strings.Join(c.Settings, "\n"))
}

// Jars is the folder into which .ci/kafka fetches a release. ONEFOLD_KAFKA_JARS names another place of these folders
// (kafka-VERSION/jars). An error says how to fetch what is missing.
func Jars(version string) (string, error) {
	base := os.Getenv("ONEFOLD_KAFKA_JARS")
	if base == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("jars of Kafka %s: %w", version, err)
			}
			cache = filepath.Join(home, ".cache")
		}
		base = filepath.Join(cache, "onefold-ci")
	}
	folder := filepath.Join(base, "kafka-"+version, "jars")
	if err := checkJars(folder); err != nil {
		return "", fmt.Errorf("release %s: %w: KAFKA_VERSION=%s .ci/kafka fetch", version, err, version)
	}
	return folder, nil
}

func checkJars(folder string) error {
	if folder == "" {
		return errors.New("no folder of jars is named")
	}
	found, err := filepath.Glob(filepath.Join(folder, "kafka_2.13-*.jar"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("no jars of Kafka in %s; `.ci/kafka fetch` gets them and prints their folder", folder)
	}
	return nil
}
