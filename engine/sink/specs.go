package sink

import (
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
)

// specified is a factory that can describe its sink for the committer, be it wrapped or not.
type specified interface {
	Spec(op id.Operator, parallelism int32) Spec
}

// SpecsOf describes all transactional sinks of a plan.
func SpecsOf(p *graph.Plan) []Spec {
	var specs []Spec
	for _, v := range p.Vertices {
		for _, i := range v.Operators {
			o := &p.Job.Operators[i]
			if s, ok := o.Sink.(specified); ok {
				specs = append(specs, s.Spec(o.UID, v.Parallelism))
			}
		}
	}
	return specs
}
