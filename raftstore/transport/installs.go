package transport

import (
	"slices"
	"sync"
)

// installs remembers the newest snapshots that leaders sent, because raft does not say of a snapshot that it begins to write whether it
// is its own. BOUND: installsMax.
type installs struct {
	mu   sync.Mutex
	sent []install
}

type install struct{ index, term uint64 }

const installsMax = 16

func (i *installs) note(x install) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Contains(i.sent, x) {
		i.sent = append(i.sent[max(0, len(i.sent)+1-installsMax):], x)
	}
}

// WasSent reports whether one of the newest snapshots that leaders sent ends with this entry.
func (s Safe) WasSent(index, term uint64) bool {
	i := &s.tap.installs
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Contains(i.sent, install{index, term})
}
