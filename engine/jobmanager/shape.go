package jobmanager

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/graph"
)

// Shape is how job log and manifests name the graph of a job: its fingerprint, then uid:kind for each operator, so that a
// difference can be told in words.
func Shape(j *graph.Job) string {
	s := j.Fingerprint()
	for _, o := range j.Operators {
		s += fmt.Sprintf(" %s:%s", o.UID, o.Kind)
	}
	return s
}

// sameShape says which operator makes a job another one than was recorded.
func sameShape(recorded string, j *graph.Job) error {
	now := Shape(j)
	if recorded == now {
		return nil
	}
	before, after := strings.Fields(recorded), strings.Fields(now)
	for _, o := range before[min(1, len(before)):] {
		if !slices.Contains(after, o) {
			return fmt.Errorf("the job graph has changed: operator %s is recorded, and is not in this job as it was", name(o))
		}
	}
	for _, o := range after[1:] {
		if !slices.Contains(before, o) {
			return fmt.Errorf("the job graph has changed: operator %s is new", name(o))
		}
	}
	first := "the first operator"
	if len(after) > 1 {
		first = name(after[1])
	}
	return fmt.Errorf("the job graph has changed: the operators are the same, their order or their edges are not (from operator %s on)", first)
}

// name is the operator part of uid:kind, with its kind in brackets.
func name(s string) string {
	uid, kind, _ := strings.Cut(s, ":")
	return fmt.Sprintf("%s (%s)", uid, kind)
}
