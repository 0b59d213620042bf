package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
)

// Sinks follow the journal and the credited items of one group on this node's replica, in steps as exports do. Where a sink
// is in a group, is a record of the meta group.

// SinkCursor says how far a sink is in a group.
type SinkCursor struct {
	Line   uint64 `json:"line"`   // Number of the first journal line that it has not passed.
	Opened int64  `json:"opened"` // Items of purchases that were opened before are sent; in Unix milliseconds.
	First  int64  `json:"first"`  // Items of purchases that were opened before are not for the sink. It never changes.

	version uint64 // Of the stored record; 0 when there is none.
}

// SinkCursor returns the stored cursor of a sink in a group, or ErrNotFound, after every write that any node was answered.
func (s *Store) SinkCursor(ctx context.Context, sink string, g ids.Group) (SinkCursor, error) {
	if err := s.Groups.Barrier(ctx, s.Groups.Meta()); err != nil {
		return SinkCursor{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return s.storedSinkCursor(sink, g)
}

func (s *Store) storedSinkCursor(sink string, g ids.Group) (at SinkCursor, err error) {
	var stored shard.StoredRecord
	var found bool
	err = s.readGroup(s.Groups.Meta(), func(b shard.Queries) {
		stored, found = b.Record(command.RecordPlain, OperatorMarketplace, sinkRecord(sink, g))
	})
	if err != nil {
		return at, err
	}
	if !found {
		return at, ErrNotFound
	}
	if err := json.Unmarshal(stored.Value, &at); err != nil {
		return at, fmt.Errorf("cursor %s: %w", stored.ID, err)
	}
	at.version = stored.Version
	return at, nil
}

// PutSinkCursor replaces the stored cursor from which at was made, and makes at the stored one. ErrChanged when another node has
// stored one meanwhile. After any error the cursor has to be read again.
func (s *Store) PutSinkCursor(ctx context.Context, sink string, g ids.Group, at *SinkCursor) error {
	value, err := json.Marshal(at)
	if err != nil {
		return err
	}
	_, err = s.Tenant(OperatorMarketplace).putRecordsOnce(ctx, []command.Record{{
		Kind: command.RecordPlain, Marketplace: OperatorMarketplace, ID: sinkRecord(sink, g), Class: sinkClass, Value: value, Expect: at.version,
	}})
	if errors.Is(err, ErrAlreadyExists) || errors.Is(err, ErrNotFound) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	now, err := s.storedSinkCursor(sink, g) // This node has applied the write.
	if err == nil && (now.Line != at.Line || now.Opened != at.Opened) {
		return ErrChanged
	}
	at.version = now.version
	return err
}

// sinkClass is the class of the cursors, and begins the ids of their records, as the name of a plain resource does.
const sinkClass = "sink-cursors"

func sinkRecord(sink string, g ids.Group) string { return fmt.Sprintf("%s/%s/%d", sinkClass, sink, g) }

// SinkLine is a journal line that charges or gives a charge back, and the id of its marketplace.
type SinkLine struct {
	ExportedLine
	Marketplace ids.UUID
	Reversal    shard.Reversal // To which a reversal belongs; zero for a charge.
}

// SinkCredit is a credited item and the id of its marketplace.
type SinkCredit struct {
	ExportedCredit
	Marketplace ids.UUID
}

// SinkStep is a part of a group's journal.
type SinkStep struct {
	Lines []SinkLine // Those of the lines that were read that are charges or reversals.
	Next  uint64     // Number of the line after those that were read.
	Last  uint64     // Number of the newest line of the group.
	// Clock is the group's; First and End are the times of the first and the last line that were read, or Clock when none was.
	Clock, First, End int64
}

// SinkLines reads at most limit lines of a group from a number on. It reads nothing while a new marketplace is not known on this node.
func (s *Store) SinkLines(g ids.Group, from uint64, limit int) (step SinkStep, err error) {
	var ordinals []uint16
	err = s.readGroup(g, func(b shard.Queries) {
		step = SinkStep{Last: b.LastLine(), Clock: b.Clock()}
		step.Next, step.First, step.End = from, step.Clock, step.Clock
		if from > step.Last {
			return
		}
		names := namesOf{b: b, campaigns: map[uint32]*model.Campaign{}, bids: map[[2]uint32]ids.UUID{}}
		b.Journal(from, func(l *ledger.Line) bool {
			if step.Next == from {
				step.First = l.Millis
			}
			step.Next, step.End = l.Seq+1, l.Millis
			if isCharge(l.Kind) || isReversal(l.Kind) {
				x, of := names.line(l)
				sent := SinkLine{ExportedLine: x}
				if isReversal(l.Kind) {
					sent.Reversal, _ = b.Reversal(l.Key) // It is stored with its lines.
				}
				step.Lines, ordinals = append(step.Lines, sent), append(ordinals, of)
			}
			return step.Next-from < uint64(limit) // A small number.
		})
	})
	if err != nil {
		return step, err
	}
	known := map[uint16]ids.UUID{}
	for i, of := range ordinals {
		if step.Lines[i].Marketplace, err = s.marketplaceID(known, of); err != nil {
			return step, err
		}
	}
	return step, nil
}

func isCharge(k ledger.LineKind) bool {
	return k == ledger.ClickCharge || k == ledger.ImpressionCharge || k == ledger.PurchaseCharge
}

// marketplaceID returns the id of a marketplace, and remembers it.
func (s *Store) marketplaceID(known map[uint16]ids.UUID, ordinal uint16) (ids.UUID, error) {
	if id, found := known[ordinal]; found {
		return id, nil
	}
	var m model.Marketplace
	var found bool
	err := s.readGroup(s.Groups.Meta(), func(b shard.Queries) { m, found = b.Marketplace(ordinal) })
	if err == nil && !found {
		err = fmt.Errorf("%w: marketplace %d is not known on this node yet", ErrUnavailable, ordinal)
	}
	known[ordinal] = m.ID
	return m.ID, err
}

// SinkStart returns the cursor of a sink that begins with a group as it is now: the line after the newest, and purchases from now on.
func (s *Store) SinkStart(g ids.Group) (at SinkCursor, err error) {
	err = s.readGroup(g, func(b shard.Queries) { at.Line, at.Opened, at.First = b.LastLine()+1, b.Clock(), b.Clock() })
	return at, err
}

// SinkCreditCount returns how many credited items a group keeps of purchases that were opened on the UTC day of a time or later. While it
// does not change, no item was credited.
func (s *Store) SinkCreditCount(g ids.Group, from int64) (count uint64, err error) {
	err = s.readGroup(g, func(b shard.Queries) { count = b.CreditsFrom(uint32(max(from, 0) / dayMillis)) }) // Days fit 32 bits.
	return count, err
}

// SinkCreditsThrough returns the time before which every purchase is credited, or to nobody, and by then this node's replica of
// the group has the credited items.
func (s *Store) SinkCreditsThrough(ctx context.Context, g ids.Group) (through int64, err error) {
	if through, err = s.creditedThrough(); err != nil {
		return 0, err
	}
	if err := s.Groups.Barrier(ctx, g); err != nil { // After the look at open purchases, as in ExportReady.
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return through, nil
}

// SinkCredits calls fn for the credited items of a group whose purchases were opened at a time or later, until the end of its UTC day.
func (s *Store) SinkCredits(ctx context.Context, g ids.Group, from int64, fn func(*SinkCredit) error) error {
	known := map[uint16]ids.UUID{}
	later := func(c *shard.StoredCredit) bool { return c.Purchase.OpenedMillis >= from }
	return s.creditsOfDay(ctx, g, uint32(max(from, 0)/dayMillis), later, func(c *ExportedCredit) error { // Days fit 32 bits.
		id, err := s.marketplaceID(known, c.Marketplace)
		if err != nil {
			return err
		}
		return fn(&SinkCredit{*c, id})
	})
}

// SinkCreditDays lists the days with credited items of a group. A day whose sum has not changed has no new returns.
func (s *Store) SinkCreditDays(g ids.Group) (all []shard.CreditDay, err error) {
	err = s.readGroup(g, func(b shard.Queries) { all = b.CreditDays() })
	return all, err
}

// SinkReturns calls fn for the credited items of a day of which pieces came back, of purchases that were opened at a time or later.
func (s *Store) SinkReturns(ctx context.Context, g ids.Group, day uint32, from int64, fn func(*SinkCredit) error) error {
	known := map[uint16]ids.UUID{}
	returned := func(c *shard.StoredCredit) bool { return c.Returned > 0 && c.Purchase.OpenedMillis >= from }
	return s.creditsOfDay(ctx, g, day, returned, func(c *ExportedCredit) error {
		id, err := s.marketplaceID(known, c.Marketplace)
		if err != nil {
			return err
		}
		return fn(&SinkCredit{*c, id})
	})
}
