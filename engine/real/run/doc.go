// Package run is what a job author's main calls: it runs a job on a real Kafka with JobManager and TaskManagers in this process.
//
//	func main() { run.Main(func(run.Options) *graph.Job { return totals.Job() }) }
//
// Start runs a job and hands out a Running, which can be stopped with a savepoint or at once; Main adds flags, signals, a log
// and exit codes: 0 ended or stopped with a savepoint, 1 loud loss, 2 everything else (usage, environment, displaced by a newer
// generation, stopped at once, watchdog).
package run
