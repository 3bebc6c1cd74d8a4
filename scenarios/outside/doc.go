// Package outside says what of a fault plan can be done from outside of the processes that it strikes: kill -9, SIGSTOP, a cut
// connection, a process that is struck where it stands at a hook. A plan that keeps to it runs by `simrun repro` in the
// simulator and by `realrun chaos` on real brokers and real processes, and must get the same verdict. Such plans are kept in
// testdata.
//
// It is data and the reading of it: it strikes nothing, and knows neither world.
package outside
