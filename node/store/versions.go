package store

import (
	"errors"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// attempts bounds how often a change starts again because another was faster. BOUND: of writers that change the same values at
// the same moment each attempt lets one through, so that many may be under way; a change that is still not through is given back
// to its caller instead of keeping the group busy.
const attempts = 64

// untilUnchanged repeats a change for as long as what it was built on changes between reading and writing. Nothing has to be
// waited for before it reads again: a write returns when this node has applied it, refused or not, and so with it the write that
// was faster.
func untilUnchanged(change func() error) error {
	for range attempts {
		if err := change(); !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return ErrChanged
}

// merges reports whether a group's state machine merges changes of members and compares versions. Until every node of a cluster
// knows it, as during an upgrade, resources are written whole, and of two changes at the same moment the later may undo the other.
func (t Tenant) merges(g ids.Group) (bool, error) {
	level, err := read(t, g, shard.Books.FeatureLevel)
	return level >= command.LevelVersions, err
}
