package campaign

import (
	"sync"

	"github.com/gavel-ads/gavel/shard/ids"
)

// bidLocks let one request at a time read a bid and replace it: of two that change different members at the same moment
// both hold, and a change does not bring back a bid that is deleted meanwhile. They order the requests of this node.
type bidLocks [64]sync.Mutex // BOUND: bids that share a lock only wait for one another.

func (l *bidLocks) lock(bid ids.UUID) (unlock func()) {
	m := &l[bid[len(bid)-2]%byte(len(l))] // A random byte; the last one is the shard.
	m.Lock()
	return m.Unlock
}
