package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/sim/simbroker"
)

// everyProfile stands for all releases, and for the newest one at lower levels of transaction.version.
const everyProfile = "all"

func profileHint() string {
	return strings.Join(simbroker.ProfileNames(), ", ") + "; from 4.0 on also -tv0 or -tv1"
}

// profiles are the releases that a list names; one empty name if it is empty.
func profiles(list string) ([]string, error) {
	switch list {
	case "":
		return []string{""}, nil
	case everyProfile:
		names := simbroker.ProfileNames()
		return append([]string{names[0], names[0] + "-tv1", names[0] + "-tv0"}, names[1:]...), nil
	}
	var names []string
	for _, n := range strings.Split(list, ",") {
		if n == everyProfile {
			return nil, fmt.Errorf("--profile %s: %q stands alone: it is every release", list, n)
		}
		if _, known := simbroker.ProfileOf(n); !known {
			return nil, fmt.Errorf("--profile %s: there is no release %q; there are %s, and %q is every one", list, n, profileHint(), everyProfile)
		}
		if slices.Contains(names, n) {
			return nil, fmt.Errorf("--profile %s: %s is there twice", list, n)
		}
		names = append(names, n)
	}
	return names, nil
}
