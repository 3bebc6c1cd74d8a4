package scenarios

import "strings"

// scripted puts a scenario's name, and settings of its own, into a script that several share.
func scripted(script, name, settings string) string {
	return strings.NewReplacer("SCENARIO", name, "SETTINGS", settings).Replace(script)
}
