package reference

import (
	"fmt"

	"github.com/onefold/onefold/sim/simbroker"
)

// Offer is what a real broker says of itself.
type Offer struct {
	Node               int32
	TransactionVersion int16 // the finalized level
	versions           []simbroker.VersionRange
}

// Add notes which versions of a request the broker knows.
func (o *Offer) Add(key, least, most int16) {
	o.versions = append(o.versions, simbroker.VersionRange{Key: key, Min: least, Max: most})
}

// Expect fails when brokers look more like another release than the one of the cluster that they are to be compared with: every
// difference between the two releases would be found. A release that has no profile passes for its nearest.
func (c Cluster) Expect(brokers []Offer) error {
	for _, b := range brokers {
		like := simbroker.ProfileLike(b.versions, b.TransactionVersion)
		var why string
		switch unlike := c.Profile.Unlike(b.versions); {
		case unlike > like.Unlike(b.versions):
			why = fmt.Sprintf("offers other versions of %d requests", unlike)
		case c.Profile.TransactionVersion != b.TransactionVersion:
			why = fmt.Sprintf("has transaction.version %d", b.TransactionVersion)
		default:
			continue
		}
		return fmt.Errorf("the cluster looks like %s, not like --profile %s: broker %d %s\n  every difference between the releases would be found; compare with --profile %s",
			like.Name, c.Profile.Name, b.Node, why, like.Name)
	}
	return nil
}
