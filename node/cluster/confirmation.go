package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// KeysMax is how long this node accepts API keys after it last had the complete meta group. Normally a revoked key
	// is refused when the entry of the meta group arrives, which takes milliseconds. A node that receives no entries
	// cannot know about revocations, so it refuses all keys (promise P22, revocation).
	KeysMax = 30 * time.Second
	// confirmInterval is how often a node confirms that it has the complete meta group. When it is cut off, its last
	// confirmation may be as old as this, so it refuses keys up to this much early.
	confirmInterval   = 2 * time.Second
	confirmRetryAfter = 500 * time.Millisecond // Pause after a confirmation that failed.
)

// confirmation holds the time when this node last had everything that was committed in the meta group.
//
// A read barrier finds that out: the leader answers it after a round of heartbeats. Contact with a leader proves
// nothing, because the leader may have been deposed; ticks prove nothing on a node that is minutes behind. No wall
// clock is involved, so a wrong clock locks nobody out. The check of a request is one atomic load and one comparison.
type confirmation struct {
	start time.Time
	asOf  atomic.Int64 // Nanoseconds since began; 0: never.
}

// KeysCurrent reports whether this node may decide about keys at a time: it had every revocation at most KeysMax
// before.
func (c *Cluster) KeysCurrent(at time.Time) bool {
	asOf := c.confirmation.asOf.Load()
	return asOf != 0 && int64(at.Sub(c.confirmation.start))-asOf < int64(KeysMax)
}

// confirm waits until this node has everything that was committed in the meta group before the call, and records the
// time of the call.
func (c *Cluster) confirm(ctx context.Context) error {
	at := c.now().Sub(c.confirmation.start)
	if err := c.Barrier(ctx, c.Meta()); err != nil {
		return fmt.Errorf("group %d: %w", c.Meta(), err)
	}
	c.confirmation.asOf.Store(max(1, int64(at)))
	return nil
}

// confirmPeriodically confirms until ctx ends.
func (c *Cluster) confirmPeriodically(ctx context.Context) {
	for ctx.Err() == nil {
		pause := confirmInterval
		if c.confirm(ctx) != nil {
			pause = confirmRetryAfter
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}
