package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// KeysMax is how long this node lets keys in by what it knows of them. A key that is revoked is refused here when the meta
	// group's entry arrives, which takes milliseconds; a node that nothing arrives at cannot know, and stops to trust (P22).
	KeysMax = 30 * time.Second
	// confirmEvery is how often a node makes sure that it has everything of the meta group. What it was told before it was cut
	// off may be as old as this, so it stops that much early.
	confirmEvery = 2 * time.Second
	confirmAgain = 500 * time.Millisecond // After one that failed.
)

// current knows when this node last had everything that was committed in the meta group.
//
// It is found out by a read barrier, which the leader answers after a round of heartbeats. Neither contact with a leader nor
// ticks would do: a leader that was deposed has contact, and a node that is minutes behind hears ticks. And no wall clock
// takes part, so a wrong one shuts nobody out. The question of a request is one load and one comparison.
type current struct {
	began time.Time
	asOf  atomic.Int64 // Nanoseconds since began; 0: never.
}

// KeysCurrent reports whether this node may judge keys at a time: it had every revocation at most KeysMax ago.
func (c *Cluster) KeysCurrent(at time.Time) bool {
	asOf := c.current.asOf.Load()
	return asOf != 0 && int64(at.Sub(c.current.began))-asOf < int64(KeysMax)
}

// confirm makes sure that this node has all that was committed in the meta group before the call.
func (c *Cluster) confirm(ctx context.Context) error {
	at := c.now().Sub(c.current.began)
	if err := c.Barrier(ctx, c.Meta()); err != nil {
		return fmt.Errorf("group %d: %w", c.Meta(), err)
	}
	c.current.asOf.Store(max(1, int64(at)))
	return nil
}

// keepCurrent confirms again and again.
func (c *Cluster) keepCurrent(ctx context.Context) {
	for ctx.Err() == nil {
		pause := confirmEvery
		if c.confirm(ctx) != nil {
			pause = confirmAgain
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}
