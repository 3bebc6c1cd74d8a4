// Command realrun runs the jobs of the catalogue on a real Kafka, or on the one that it carries, and judges their output. It is
// wiring: running a job is engine/real/run, which a job author calls from their own main.
package main

import "os"

func main() {
	collectSeldom()
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}
