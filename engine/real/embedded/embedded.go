// Package embedded runs a Kafka inside the process: kfake, with its data on disk. It is for trying things out and for tests.
//
// It survives a kill -9: every write is synced. A transaction that is open at that moment is aborted when it starts again (a real
// broker would keep it), so a job killed between Completed and its commit shows a salvage.
package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Broker is a running embedded Kafka of one broker.
type Broker struct {
	Address string
	cluster *kfake.Cluster
	lock    *os.File
}

// Start runs a broker on data in dir, at listen (host:port), or at a free port of 127.0.0.1 if it is empty. Only one process
// at a time can have dir.
func Start(dir, listen string) (*Broker, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("embedded Kafka: %w", err)
	}
	lock, err := claim(dir)
	if err != nil {
		return nil, err
	}
	b := &Broker{lock: lock}
	if err := b.start(dir, listen); err != nil {
		lock.Close()
		return nil, err
	}
	return b, nil
}

func (b *Broker) start(dir, listen string) error {
	if listen == "" {
		port, err := FreePort()
		if err != nil {
			return err
		}
		listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	host, portText, err := net.SplitHostPort(listen)
	port, bad := strconv.Atoi(portText)
	if err != nil || bad != nil || host == "" {
		return fmt.Errorf("embedded Kafka: %q is not of the form HOST:PORT", listen)
	}
	// kfake binds the port on 127.0.0.1; the address asked for may be another.
	bind := func(network, _ string) (net.Listener, error) { return net.Listen(network, listen) }
	b.cluster, err = kfake.NewCluster(
		kfake.NumBrokers(1), kfake.Ports(port), kfake.ListenFn(bind),
		kfake.DataDir(filepath.Join(dir, "data")), kfake.SyncWrites(),
		kfake.BrokerConfigs(map[string]string{"transaction.max.timeout.ms": "900000"}))
	if err != nil {
		return fmt.Errorf("embedded Kafka at %s: %w", listen, err)
	}
	b.Address = b.cluster.ListenAddrs()[0]
	b.cluster.ControlKey(int16(kmsg.OffsetFetch), b.readLanes)
	return nil
}

// readLanes mends one thing. kfake calls all partitions of a group unstable while one of them has a pending transactional commit;
// a real broker only that one. The sinks' groups have a partition per transaction, so each would wait for all others, and a
// restore for ever. Read as they are, their values are right here: kfake ends a transaction in one step, so a pending value is not
// yet written and an ended one is.
func (b *Broker) readLanes(req kmsg.Request) (kmsg.Response, error, bool) {
	b.cluster.KeepControl()
	fetch := req.(*kmsg.OffsetFetchRequest)
	for _, g := range fetch.Groups {
		if !strings.HasPrefix(g.Group, "onefold.") {
			return nil, nil, false
		}
	}
	if len(fetch.Groups) > 0 {
		fetch.RequireStable = false
	}
	return nil, nil, false
}

// Close stops the broker and keeps the data.
func (b *Broker) Close() {
	b.cluster.Close()
	b.lock.Close()
}

// claim holds the directory for this process; the lock goes with the process, however it ends.
func claim(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("embedded Kafka: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("embedded Kafka: another process runs the one in %s; to share it between processes start "+
			"`realrun broker --data DIR --listen 127.0.0.1:PORT` and give the others --brokers 127.0.0.1:PORT", dir)
	}
	return nil, fmt.Errorf("embedded Kafka: lock %s: %w", dir, err)
}

var portsTried atomic.Int64 // by FreePort, in this process

// FreePort finds a port of 127.0.0.1 that nobody listens on, below the range from which the system gives ports to clients: one
// of those may be taken by a connection while the server is down. No port is given twice, since it may take a while until
// the server that it is for listens there.
func FreePort() (int, error) {
	const first, count = 21000, 9000
	for range count { // processes that look at the same time begin at different places
		port := first + (os.Getpid()*97+int(portsTried.Add(1)))%count
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		l.Close()
		return port, nil
	}
	return 0, errors.New("no free port between 21000 and 30000 on 127.0.0.1")
}
