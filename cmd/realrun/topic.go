package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newTopic makes topics for jobs that are not of the catalogue: the embedded Kafka makes none by itself.
func newTopic(c *console) *cobra.Command {
	var p place
	var partitions int32
	cmd := &cobra.Command{
		Use:     "topic NAME...",
		Short:   "make topics, for a job of your own",
		Example: "  realrun topic counts --brokers 127.0.0.1:21092 --partitions 4",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return fmt.Errorf("name the topics to make, as: %s topic counts", me())
			case partitions < 1:
				return fmt.Errorf("--partitions %d: want a whole number from 1 on", partitions)
			}
			k, shut, err := p.open()
			if err != nil {
				return err
			}
			defer shut()
			cl, err := k.witness(cmd.Context())
			if err != nil {
				return err
			}
			defer cl.Close()
			if err := ensureTopics(cmd.Context(), c, cl, args, partitions); err != nil {
				return err
			}
			return c.document(map[string]any{"topics": args})
		},
	}
	cmd.Flags().StringVar(&p.brokers, "brokers", "127.0.0.1:21092", "`HOST:PORT,...` of the cluster")
	p.secure.Add(cmd.Flags())
	cmd.Flags().Int32Var(&partitions, "partitions", 8, "partitions of the topics that are made")
	return cmd
}
