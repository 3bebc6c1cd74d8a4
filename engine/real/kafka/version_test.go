package kafka

import "github.com/twmb/franz-go/pkg/kversion"

func v39() *kversion.Versions { return kversion.V3_9_0() }
