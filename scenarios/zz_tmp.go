package scenarios

import "github.com/onefold/onefold/engine/joblog"

func (w *World) Entries() []joblog.Entry { return w.entries }
