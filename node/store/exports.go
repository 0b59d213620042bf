package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Exports read the journal, the credited items and the report cells of one group from this node's replica, in steps:
// each step is one read of the group, and what it has read is handed on after it, so that a slow receiver keeps no
// snapshot of the database open.

// exportStep is how many lines or items a step reads. BOUND: some MB.
const exportStep = 4_096

const (
	dayMillis  = 24 * hourMillis
	cellMillis = rollup.CellSeconds * 1000
)

// ExportedLine is a journal line of a marketplace that moves money, with the names of what it is about.
type ExportedLine struct {
	ledger.Line
	VendorID   string   // Empty for a ledger account of the marketplace.
	CampaignID ids.UUID // Zero for a line of no campaign; so is BidID.
	BidID      ids.UUID
}

// ExportedCredit is an item of a purchase that was credited to an ad, with the names of the ad.
type ExportedCredit struct {
	shard.StoredCredit
	VendorID   string
	CampaignID ids.UUID
	BidID      ids.UUID
}

// ExportedCell are the counters of one bid in one cell. The campaign is zero for events without one; the bid is zero for
// events that named the campaign by its external id.
type ExportedCell struct {
	Cell       uint32
	VendorID   string
	CampaignID ids.UUID
	BidID      ids.UUID
	Target     string
	rollup.Counters
}

// ExportReady returns the times up to which a group's journal and report cells, and the credits of purchases in all groups, are
// complete on this node, in Unix milliseconds.
func (s *Store) ExportReady(ctx context.Context, g ids.Group) (clock, credited int64, err error) {
	if credited, err = s.creditedThrough(); err != nil {
		return 0, 0, err
	}
	// A purchase is closed after its credits were committed. The barrier comes after the look at open purchases, so the
	// group's replica has the credits of all purchases that were seen closed. That of the meta group makes sure that this node
	// knows all marketplaces.
	for _, of := range []ids.Group{s.Groups.Meta(), g} {
		if err := s.Groups.Barrier(ctx, of); err != nil {
			return 0, 0, err
		}
	}
	err = s.readGroup(g, func(b shard.Queries) { clock = b.Clock() })
	return clock, credited, err
}

// creditedThrough returns the time before which every purchase is credited, or to nobody.
func (s *Store) creditedThrough() (int64, error) {
	through, err := s.clockOfAll()
	if err != nil {
		return 0, err
	}
	for _, g := range s.dataGroups() {
		err := s.readGroup(g, func(b shard.Queries) {
			if open := b.OpenCredits(1, 1); len(open) > 0 { // The oldest.
				through = min(through, open[0].Name.OpenedMillis)
			}
		})
		if err != nil {
			return 0, err
		}
	}
	return through, nil
}

// ExportStart returns the time of the oldest journal line or report cell that a group has; now when it has none.
func (s *Store) ExportStart(g ids.Group, marketplaces []uint16) (oldest int64, err error) {
	oldest = s.Now().UnixMilli()
	err = s.readGroup(g, func(b shard.Queries) {
		oldest = min(oldest, b.Clock())
		b.Journal(1, func(l *ledger.Line) bool {
			oldest = min(oldest, l.Millis)
			return false
		})
		if cell, found := b.FirstCampaignCell(); found {
			oldest = min(oldest, int64(cell)*cellMillis)
		}
		for _, m := range marketplaces {
			if cell, found := b.FirstNoCampaignCell(m); found {
				oldest = min(oldest, int64(cell)*cellMillis)
			}
		}
	})
	return oldest, err
}

// ExportJournal calls fn for the lines of a group that moved money of the marketplace within span, in their order.
func (t Tenant) ExportJournal(ctx context.Context, g ids.Group, span shard.Span, fn func(*ExportedLine) error) error {
	var next uint64
	for more := true; more; {
		var step []ExportedLine
		err := t.store.readGroup(g, func(b shard.Queries) {
			step, next, more = t.journalStep(b, next, span)
		})
		if err == nil {
			err = eachOf(ctx, step, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// journalStep reads some lines from number next on; 0 is the first of the span. It returns the number after the last one that it read.
func (t Tenant) journalStep(b shard.Queries, next uint64, span shard.Span) (step []ExportedLine, after uint64, more bool) {
	if next == 0 {
		next = b.FirstLine(span.From)
	}
	var lines []ledger.Line
	b.Journal(next, func(l *ledger.Line) bool {
		if l.Millis >= span.To {
			return false
		}
		lines = append(lines, *l)
		return len(lines) < exportStep
	})
	names := namesOf{b: b, campaigns: map[uint32]*model.Campaign{}, bids: map[[2]uint32]ids.UUID{}}
	for i := range lines {
		if !movesMoney(lines[i].Kind) {
			continue
		}
		x, marketplace := names.line(&lines[i])
		if marketplace == t.marketplace {
			step = append(step, x)
		}
	}
	return step, next + uint64(len(lines)), len(lines) == exportStep
}

// movesMoney reports whether lines of a kind change the balance of an account, or decide that a charge changes none.
func movesMoney(k ledger.LineKind) bool {
	return k != ledger.BudgetInForce && k != ledger.BudgetCarried && k != ledger.BillingMode
}

// namesOf finds the names of what lines and credits of a group are about. It remembers campaigns and bids.
type namesOf struct {
	b         shard.Queries
	campaigns map[uint32]*model.Campaign
	bids      map[[2]uint32]ids.UUID
}

func (n *namesOf) campaign(ordinal uint32) *model.Campaign {
	c := n.campaigns[ordinal]
	if c == nil {
		stored, _ := n.b.CampaignByOrdinal(ordinal) // Campaigns are never removed.
		c = &stored.Campaign
		n.campaigns[ordinal] = c
	}
	return c
}

func (n *namesOf) bid(campaign, ordinal uint32) ids.UUID {
	at := [2]uint32{campaign, ordinal}
	id, known := n.bids[at]
	if !known {
		bid, _ := n.b.BidByOrdinal(campaign, ordinal) // Bid 0 is of events that named the campaign by its external id.
		id = bid.ID
		n.bids[at] = id
	}
	return id
}

func (n *namesOf) line(l *ledger.Line) (x ExportedLine, marketplace uint16) {
	x.Line = *l
	if l.Campaign != 0 {
		c := n.campaign(l.Campaign)
		x.VendorID, x.CampaignID, x.BidID = c.VendorID, c.ID, n.bid(l.Campaign, l.Bid)
		return x, c.Marketplace
	}
	w, _ := n.b.Wallet(l.Wallet) // Accounts are never removed.
	x.VendorID = w.VendorID
	return x, w.Marketplace
}

// ExportCredits calls fn for the credited items of a group whose purchases were opened within span, by day, purchase and item. Days that
// are not kept any more have none; see shard.CreditDays.
func (t Tenant) ExportCredits(ctx context.Context, g ids.Group, span shard.Span, fn func(*ExportedCredit) error) error {
	var today int64
	if err := t.store.readGroup(g, func(b shard.Queries) { today = b.Clock() / dayMillis }); err != nil {
		return err
	}
	first, last := max(span.From/dayMillis, today-shard.CreditDays), min((span.To-1)/dayMillis, today)
	own := func(c *shard.StoredCredit) bool {
		return c.Marketplace == t.marketplace && c.Purchase.OpenedMillis >= span.From && c.Purchase.OpenedMillis < span.To
	}
	for day := first; day <= last; day++ {
		if err := t.store.creditsOfDay(ctx, g, uint32(day), own, fn); err != nil { // Days fit 32 bits.
			return err
		}
	}
	return nil
}

// creditsOfDay calls fn for those credited items of a group that keep selects, of purchases that were opened on a UTC day, in the order of
// their purchases' keys.
func (s *Store) creditsOfDay(ctx context.Context, g ids.Group, day uint32, keep func(*shard.StoredCredit) bool, fn func(*ExportedCredit) error) error {
	var last *shard.StoredCredit
	for more := true; more; {
		var step []ExportedCredit
		err := s.readGroup(g, func(b shard.Queries) {
			names := namesOf{b: b, campaigns: map[uint32]*model.Campaign{}, bids: map[[2]uint32]ids.UUID{}}
			read := 0
			b.CreditsOfDay(day, last, func(c *shard.StoredCredit) bool {
				last, read = c, read+1
				if keep(c) {
					of := names.campaign(c.Campaign)
					step = append(step, ExportedCredit{*c, of.VendorID, of.ID, names.bid(c.Campaign, c.Bid)})
				}
				return read < exportStep
			})
			more = read == exportStep
		})
		if err == nil {
			err = eachOf(ctx, step, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ExportCells calls fn for the report cells of a group that begin within span: those of events without a campaign, then by campaign,
// cell and bid.
func (t Tenant) ExportCells(ctx context.Context, g ids.Group, span shard.Span, fn func(*ExportedCell) error) error {
	c := cells{uint32((span.From + cellMillis - 1) / cellMillis), uint32((span.To + cellMillis - 1) / cellMillis)} // Cells fit 32 bits.
	var step []ExportedCell
	err := t.store.readGroup(g, func(b shard.Queries) {
		for _, x := range b.NoCampaignCells(t.marketplace, c.from, c.to) {
			step = append(step, ExportedCell{Cell: x.Cell, Counters: x.Counters})
		}
	})
	if err == nil {
		err = eachOf(ctx, step, fn)
	}
	var last ids.UUID
	for more := true; more && err == nil; {
		var found []ids.UUID
		err = t.store.readGroup(g, func(b shard.Queries) {
			found, last, more = b.CampaignsCounted(last, c.from, c.to, exportCampaigns)
		})
		for i := 0; i < len(found) && err == nil; i++ {
			err = t.exportCampaignCells(ctx, g, found[i], c, fn)
		}
		if err == nil {
			err = ctx.Err()
		}
	}
	return err
}

// exportCampaignCells calls fn for the cells of a campaign, if it is one of the marketplace. It may belong to another group than the one
// that has counted, when events named it by its external id.
func (t Tenant) exportCampaignCells(ctx context.Context, g ids.Group, id ids.UUID, within cells, fn func(*ExportedCell) error) error {
	var c model.Campaign
	own := t.store.Groups.GroupOf(ids.ShardOf(id))
	err := t.store.readGroup(own, func(b shard.Queries) {
		state, _ := b.Campaign(id) // Campaigns are never removed.
		c = state.Campaign
	})
	if err != nil || c.Marketplace != t.marketplace {
		return err
	}
	var step []ExportedCell // One campaign has at most shard.BidsMax bids.
	err = t.store.readGroup(g, func(b shard.Queries) {
		names := namesOf{b: b, bids: map[[2]uint32]ids.UUID{}}
		b.CampaignBidCells(id, within.from, within.to, func(x *shard.BidCell) {
			cell := ExportedCell{Cell: x.Cell, VendorID: c.VendorID, CampaignID: id, Target: x.Target, Counters: x.Counters}
			if own == g {
				cell.BidID = names.bid(c.Ordinal, x.Bid)
			}
			step = append(step, cell)
		})
	})
	if err != nil {
		return err
	}
	return eachOf(ctx, step, fn)
}

// exportCampaigns is how many campaigns a step looks at. BOUND: some 10 ms.
const exportCampaigns = 1_000

func eachOf[T any](ctx context.Context, all []T, fn func(*T) error) error {
	for i := range all {
		if err := fn(&all[i]); err != nil {
			return err
		}
	}
	return ctx.Err()
}
