package sinks

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
)

// scanShare bounds the time that scans for credited items take: at most one part in so many.
const scanShare = 20

const dayMillis = 24 * 60 * 60 * 1000

// creditScan is what a follower remembers of its last scan of credited items. They are stored by the day and the hash of their
// purchases, not in the order in which they were credited, so a day is scanned whenever its count has changed.
type creditScan struct {
	done    bool
	count   uint64    // Of the items that were kept before the scan.
	waiting bool      // The scan has found items that could not be sent yet.
	next    time.Time // When the next scan may begin.
}

// sendCredits sends items of purchases that were opened from the cursor on, as soon as all purchases that were opened before are
// credited, and moves the cursor: at most to the end of a UTC day. It reports whether there are more.
func (f *Follower) sendCredits(ctx context.Context) (more bool, err error) {
	s := f.sink
	began := s.Now()
	if began.Before(f.credits.next) {
		return false, nil
	}
	count, err := s.Store.SinkCreditCount(f.group, f.at.Opened)
	if err != nil || f.credits.done && !f.credits.waiting && count == f.credits.count {
		return false, err
	}
	through, err := s.Store.SinkCreditsThrough(ctx, f.group)
	if err != nil {
		return false, err
	}
	if count, err = s.Store.SinkCreditCount(f.group, f.at.Opened); err != nil {
		return false, err
	}
	f.at.Opened = max(f.at.Opened, (through/dayMillis-shard.CreditDays)*dayMillis) // Older days are not kept.
	end := (f.at.Opened/dayMillis + 1) * dayMillis
	waiting := false
	if count == 0 {
		end = through // There is nothing to scan in any day.
	} else if waiting, err = f.scan(ctx, through); err != nil {
		return false, err
	}
	more = end < through
	f.at.Opened = max(f.at.Opened, min(end, through)) // This node may know of less than the last leader.
	f.credits = creditScan{done: !more, count: count, waiting: waiting}
	if !more {
		f.credits.next = began.Add(scanShare * s.Now().Sub(began))
	}
	return more, nil
}

// scan sends the items of the cursor's day. waiting reports whether there are any of purchases that were opened at the given time or
// later, among which others may still be credited.
func (f *Follower) scan(ctx context.Context, through int64) (waiting bool, err error) {
	oldest := through
	err = f.sink.Store.SinkCredits(ctx, f.group, f.at.Opened, func(c *store.SinkCredit) error {
		if c.Purchase.OpenedMillis >= through {
			waiting = true
			return nil
		}
		oldest = min(oldest, c.Purchase.OpenedMillis)
		return f.add(ctx, ofCredit(f.group, c))
	})
	if err == nil {
		err = f.flush(ctx)
	}
	f.batch, f.bytes = f.batch[:0], 0 // Of a scan that failed.
	if err != nil {
		f.sink.setLag(f.group, lag{0, time.Duration(through-oldest) * time.Millisecond})
	}
	return waiting, err
}
