// Package export writes what the raft groups of a node have recorded to files for other systems: the journal of charges and
// wallets, the items of purchases that were credited to ads, the counters of the reports, and events as they were reported.
// DESIGN.md says what is promised, SCHEMA.md has the columns.
//
// The leader of a group exports its UTC hours one after the other. For each marketplace it writes the files of the hour, then a
// manifest that names them, and at last the cursor of the group. All of them are in the target, so another node goes on
// where the last one stopped, and nothing of it is replicated.
package export

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	// every is how often groups are asked for hours that are complete.
	every = time.Minute
	// roundsMax is how many hours of a group are exported before the other groups get a turn.
	roundsMax = 24
	// emptyMax is how many hours without anything to export one write of the cursor passes over.
	emptyMax = 24
	// closeDelay is how long after the end of a UTC hour it is exported: the local hours that begin in it are over then, because time
	// zones differ by quarter hours.
	closeDelay = 45 * time.Minute
	// lateMax is how long before a group's first line or counter an event may have occurred that is reported later.
	lateMax = event.CountMillis * time.Millisecond
	day     = 24 * time.Hour
)

// ages are the ages of an hour at which its revisions are written; the first one is written as soon as the hour is complete. A journal
// line never changes, so the journal has one revision. Credited items change while their products can be returned, 30 days after
// the purchase and reported up to 30 days later, and are kept for shard.CreditDays. Counters of an hour change with events that
// are reported late (30 days), and with purchases up to 90 days after a touch, their late reports and their returns.
var ages = [...]time.Duration{0, day, 7 * day, 31 * day, 88 * day, 181 * day}

// Exporter exports the groups that this node leads. All exported fields are required.
type Exporter struct {
	Store        *store.Store
	Target       Target
	Formats      []Format
	Groups       []ids.Group // Those with campaigns.
	Leads        func(ids.Group) bool
	Marketplaces func() []uint16
	Log          *slog.Logger

	rows, files, failures atomic.Uint64
	mu                    sync.Mutex                  // LOCKS: it guards lags.
	lags                  map[ids.Group]time.Duration // Of the groups that this node leads.
}

// Stats are the counts of an exporter. Totals only grow.
type Stats struct {
	Rows, Files, Failures uint64
	// Lag is the time from the begin of the first hour that is not exported to the clock of its group, of the group that is behind most;
	// 0 when this node leads none.
	Lag time.Duration
}

// Stats returns the counts.
func (e *Exporter) Stats() Stats {
	s := Stats{Rows: e.rows.Load(), Files: e.files.Load(), Failures: e.failures.Load()}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, lag := range e.lags { // In any order: the largest counts.
		s.Lag = max(s.Lag, lag)
	}
	return s
}

// Run exports complete hours until the context ends.
func (e *Exporter) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for more := true; more; {
			more = e.turn(ctx)
		}
	}
}

// turn exports some hours of each group, and reports whether there are more. A group that fails waits for the next tick.
func (e *Exporter) turn(ctx context.Context) (more bool) {
	for _, g := range e.Groups {
		for n, again := 0, true; again && ctx.Err() == nil; n++ {
			var err error
			if again, err = e.Round(ctx, g); err != nil && ctx.Err() == nil {
				e.failures.Add(1)
				e.Log.Warn("export_failed", slog.Int("group", int(g)), slog.Any("err", err),
					slog.String("effect", "the hour is exported again in a minute"))
			}
			if n == roundsMax {
				more = more || again
				break
			}
		}
	}
	return more && ctx.Err() == nil
}

// Round exports an hour of a group if one is due and this node leads the group, and reports whether it did. After an error the hour is
// exported again by the next Round, on this node or another one.
func (e *Exporter) Round(ctx context.Context, g ids.Group) (did bool, err error) {
	if !e.Leads(g) {
		e.setLag(g, 0)
		return false, nil
	}
	clock, credited, err := e.Store.ExportReady(ctx, g)
	if err != nil {
		return false, err
	}
	now, through := time.UnixMilli(clock), time.UnixMilli(min(clock, credited)).Add(-closeDelay)
	at, err := e.cursor(ctx, g, through)
	if err != nil {
		return false, err
	}
	e.setLag(g, now.Sub(at.Next[0]))
	for k := range at.Next {
		moved, err := e.exportHours(ctx, &at, k, through, now)
		if err != nil {
			return false, err
		}
		if !moved {
			continue
		}
		if err := writeDocument(ctx, e.Target, cursorPath(g), at); err != nil {
			return false, err
		}
		e.setLag(g, now.Sub(at.Next[0]))
		return true, nil
	}
	return false, nil
}

// exportHours exports an hour of which a revision is due, and before it hours that have nothing to export. It moves the cursor behind them
// and reports whether it has moved.
func (e *Exporter) exportHours(ctx context.Context, at *cursor, k int, through, now time.Time) (moved bool, err error) {
	for range emptyMax {
		hour := at.Next[k]
		if k > 0 && !hour.Before(at.Next[0]) || due(hour, through) <= k {
			return moved, nil
		}
		wrote, err := e.exportHour(ctx, at.Group, hour, due(hour, through), now)
		if err != nil {
			return false, err
		}
		at.Next[k] = hour.Add(time.Hour)
		if moved = true; wrote {
			return true, nil
		}
	}
	return moved, nil
}

// due returns how many revisions of an hour are due, when everything until a time is complete.
func due(hour, through time.Time) (revisions int) {
	for revisions < len(ages) && !hour.Add(time.Hour+ages[revisions]).After(through) {
		revisions++
	}
	return revisions
}

// cursor reads the cursor of a group. Without one the export begins with the oldest hour of which the group may ever have anything.
func (e *Exporter) cursor(ctx context.Context, g ids.Group, through time.Time) (cursor, error) {
	at, found, err := readDocument[cursor](ctx, e.Target, cursorPath(g))
	if err != nil {
		return at, err
	}
	if !found {
		oldest, err := e.Store.ExportStart(g, e.Marketplaces())
		if err != nil {
			return at, err
		}
		at = newCursor(g, time.UnixMilli(oldest).UTC().Add(-lateMax).Truncate(time.Hour), through)
	}
	if len(at.Next) != len(ages) {
		return at, fmt.Errorf("%s is of another version: it has %d revisions, not %d", cursorPath(g), len(at.Next), len(ages))
	}
	return at, nil
}

// newCursor begins with an hour. The first revision of an old hour is written with everything that is known by then, so the later
// ones begin where they are not due yet.
func newCursor(g ids.Group, first, through time.Time) cursor {
	at := cursor{SchemaVersion: SchemaVersion, Group: g, Next: []time.Time{first}}
	for _, age := range ages[1:] {
		next := through.Add(-age).UTC().Truncate(time.Hour)
		if first.After(next) {
			next = first
		}
		at.Next = append(at.Next, next)
	}
	return at
}

// setLag sets how far the export of a group is behind, 0 for a group that another node leads.
func (e *Exporter) setLag(g ids.Group, lag time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lags == nil {
		e.lags = map[ids.Group]time.Duration{}
	}
	e.lags[g] = max(lag, 0)
}
