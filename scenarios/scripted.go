package scenarios

import "strings"

// scripted puts a scenario's name into a script that several share.
func scripted(script, name string) string { return strings.Replace(script, "SCENARIO", name, 1) }
