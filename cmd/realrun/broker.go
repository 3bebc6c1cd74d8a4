package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/engine/real/embedded"
)

func newBroker(c *console) *cobra.Command {
	var data, listen string
	cmd := &cobra.Command{
		Use:   "broker --data DIR",
		Short: "the embedded Kafka (kfake) as a process of its own",
		Long: "broker runs the embedded Kafka until it is stopped. It is for trying things out: one broker, every write synced,\n" +
			"transactions that are open when it is killed are aborted at the next start (a real broker keeps them), and which batches\n" +
			"it has is forgotten: a `generate` that goes on over a kill of it may write records twice.",
		Example: "  realrun broker --data /tmp/kafka --listen 127.0.0.1:21092\n" +
			"  realrun generate payments --records 100000 --brokers 127.0.0.1:21092",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := embedded.Start(data, listen)
			if err != nil {
				return err
			}
			defer b.Close()
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
			defer stop()
			c.print("%s", b.Address)
			if err := c.document(map[string]string{"address": b.Address, "data": data}); err != nil {
				return err
			}
			c.say("Kafka at %s, data in %s; stop it with SIGTERM or Ctrl-C", b.Address, data)
			c.say("next: %s generate payments --records 100000 --brokers %s", me(), b.Address)
			<-ctx.Done()
			return nil
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "directory of the data (made if missing)")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:21092", "HOST:PORT to listen at; empty for a free port")
	_ = cmd.MarkFlagRequired("data")
	return cmd
}
