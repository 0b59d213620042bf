package sinks

import (
	"context"
	"maps"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
)

// sentReturnsMax is how many returned items a follower remembers as sent. BOUND: some 100 bytes each; beyond it they are forgotten, so
// those of a day that changes are repeated.
const sentReturnsMax = 100_000

// creditName names a credited item of a group.
type creditName struct {
	purchase command.PurchaseName
	item     uint16
}

// returnScan is what a follower remembers of returns. It is not stored: another leader sends the returns of all days that are kept
// again, with the same ids.
type returnScan struct {
	days   map[uint32]uint64    // By day its sum, when all of its returns were sent.
	sent   map[creditName]int64 // Pieces that came back, as they were sent.
	next   time.Time            // When the next scan may begin.
	failed time.Time            // When the first of the scans began that have failed since the last success; zero for none.
}

// sendReturns sends the items of which pieces came back since they were sent, of purchases that the cursor has passed. It scans one day
// whose items have changed, and reports whether there are more.
func (f *Follower) sendReturns(ctx context.Context) (more bool, err error) {
	s := f.sink
	began := s.Now()
	if began.Before(f.returns.next) {
		return false, nil
	}
	days, err := s.Store.SinkCreditDays(f.group)
	if err != nil {
		return false, err
	}
	known := make(map[uint32]uint64, len(days))
	scanned := false
	for _, d := range days {
		sum, found := f.returns.days[d.Day]
		switch {
		case found && sum == d.Sum:
			known[d.Day] = sum
		case int64(d.Day)*dayMillis >= f.at.Opened || int64(d.Day+1)*dayMillis <= f.at.First:
			continue // The cursor has passed none of its purchases, or none of them are for the sink.
		case scanned:
			more = true
		default:
			scanned = true
			complete, err := f.scanReturns(ctx, d.Day)
			if err != nil {
				f.returnsFailed(began)
				return false, err
			}
			if complete {
				known[d.Day] = d.Sum
			}
		}
	}
	f.returns.days, f.returns.failed = known, time.Time{}
	if !more {
		f.returns.next = began.Add(scanShare * s.Now().Sub(began))
	}
	return more, nil
}

// scanReturns sends the returns of a day. complete is false when there are some whose conversions are not sent yet.
func (f *Follower) scanReturns(ctx context.Context, day uint32) (complete bool, err error) {
	complete = true
	found := map[creditName]int64{}
	err = f.sink.Store.SinkReturns(ctx, f.group, day, f.at.First, func(c *store.SinkCredit) error {
		name := creditName{c.Purchase, c.Item}
		switch {
		case c.Purchase.OpenedMillis >= f.at.Opened:
			complete = false
			return nil
		case f.returns.sent[name] == c.Returned:
			return nil
		}
		found[name] = c.Returned
		return f.add(ctx, ofReturn(f.group, c))
	})
	if err == nil {
		err = f.flush(ctx)
	}
	f.batch, f.bytes = f.batch[:0], 0 // Of a scan that failed.
	if err != nil {
		return false, err
	}
	if f.returns.sent == nil || len(f.returns.sent)+len(found) > sentReturnsMax {
		f.returns.sent = map[creditName]int64{}
	}
	maps.Copy(f.returns.sent, found)
	return complete, nil
}

// returnsFailed records since when returns could not be sent.
func (f *Follower) returnsFailed(began time.Time) {
	if f.returns.failed.IsZero() {
		f.returns.failed = began
	}
	f.sink.setLag(f.group, lag{0, f.sink.Now().Sub(f.returns.failed)})
}
