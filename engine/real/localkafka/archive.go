package localkafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// archive is where the loaded classes of a release lie beside its jars: with them a broker starts in half the time. A virtual
// machine to which they do not fit leaves them alone.
func archive(jars string) string { return filepath.Join(filepath.Dir(jars), "classes.jsa") }

// archived are the flags that use the archive of a release, if it is there.
func archived(jars string) []string {
	if _, err := os.Stat(archive(jars)); err != nil {
		return nil
	}
	return []string{"-XX:SharedArchiveFile=" + archive(jars), "-Xlog:cds=off", "-Xlog:cds+dynamic=off"}
}

// Train makes the archive of a release, once: it starts a broker and stops it. It needs the right to write beside the jars.
func Train(ctx context.Context, config Config) (err error) {
	config = config.withDefaults()
	config.Nodes, config.Dir, config.Settings, config.Features = 1, "", nil, nil
	if _, err := os.Stat(archive(config.Jars)); err == nil {
		return nil
	}
	if err := config.check(); err != nil {
		return fmt.Errorf("local Kafka: %w", err)
	}
	made := fmt.Sprintf("%s.%d", archive(config.Jars), os.Getpid())
	config.flags = []string{"-XX:ArchiveClassesAtExit=" + made, "-Xlog:cds=off", "-Xlog:cds+dynamic=off"}
	c, err := Start(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.end(ctx, 0, syscall.SIGTERM); err != nil {
		return err
	}
	return os.Rename(made, archive(config.Jars))
}
