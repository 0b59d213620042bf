package store

import (
	"errors"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// maxAttempts bounds how often a change starts again because another writer was faster. BOUND: of writers that change the same
// values at the same moment each attempt lets one through, so that many may be under way. A change that has not succeeded by then
// is returned to its caller as ErrChanged instead of keeping the group busy.
const maxAttempts = 64

// retryOnConflict repeats a change for as long as what it was built on changes between reading and writing. It needs no wait
// before it reads again: a write, refused or not, returns when this node has applied it, and so has the faster write by then.
func retryOnConflict(change func() error) error {
	for range maxAttempts {
		if err := change(); !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return ErrChanged
}

// supportsMerge reports whether a group's state machine merges changes of members and compares versions. Until every node of
// a cluster supports it, as during an upgrade, resources are written whole, and of two changes at the same moment the later may
// undo the other.
func (t Tenant) supportsMerge(g ids.Group) (bool, error) { return t.reached(g, command.LevelVersions) }

// reached reports whether a group has a feature level.
func (t Tenant) reached(g ids.Group, level command.Level) (bool, error) {
	has, err := readManaged(t, g, shard.Queries.FeatureLevel)
	return has >= level, err
}
