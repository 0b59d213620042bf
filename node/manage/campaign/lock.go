package campaign

import (
	"sync"

	"github.com/gavel-ads/gavel/shard/ids"
)

// locks let one request at a time read a bid, or the document of a campaign, and replace it: of two that change different
// members at the same moment both hold, and a change does not bring back a bid that is deleted meanwhile. They order the
// requests of this node.
type locks [64]sync.Mutex // BOUND: things that share a lock only wait for one another.

func (l *locks) lock(id ids.UUID) (unlock func()) {
	m := &l[id[len(id)-2]%byte(len(l))] // A random byte; the last one is the shard.
	m.Lock()
	return m.Unlock
}
