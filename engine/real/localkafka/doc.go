// Package localkafka runs a Kafka cluster of this machine from a folder of jars, for what must be seen on real brokers: each
// broker is a java process of its own that can be killed, stopped, held and started with the jars of another release.
//
//	jars, err := localkafka.Jars("4.4.0") // KAFKA_VERSION=4.4.0 .ci/kafka fetch
//	c, err := localkafka.Start(ctx, localkafka.Config{Jars: jars, Nodes: 3, Port: 20400})
//	defer c.Close()
//	c.Kill(1)
//	err = c.Start(ctx, 1)
//
// A broker is named by its number from 0, which is its node.id too. Signals go to the pid that was started, and to no other.
// The brokers end with this process, however it ends (on Linux), and their data goes with Close.
package localkafka
