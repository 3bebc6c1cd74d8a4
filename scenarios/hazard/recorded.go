package hazard

// recorded is what was found on real brokers, by hazard and version.
var recorded []Recorded
