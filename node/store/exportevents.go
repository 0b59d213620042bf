package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// ExportedEvent is an event that a marketplace keeps, with the names of what it is about.
type ExportedEvent struct {
	shard.StoredEvent
	Number     uint32   // Of the UTC day in which it was committed.
	VendorID   string   // Empty for an event without a campaign.
	CampaignID ids.UUID // Zero for an event without a campaign; so is BidID.
	BidID      ids.UUID
}

// ExportEvents calls fn for the events that a group keeps of the marketplace and that were committed within span, in the order of
// their commits. Days that the marketplace does not keep have none (model.Marketplace.EventDays).
func (t Tenant) ExportEvents(ctx context.Context, g ids.Group, span shard.Span, fn func(*ExportedEvent) error) error {
	var today int64
	if err := t.store.readGroup(g, func(b shard.Queries) { today = b.Clock() / dayMillis }); err != nil {
		return err
	}
	first, last := max(span.From/dayMillis, today-model.EventDaysMax), min((span.To-1)/dayMillis, today)
	for day := first; day <= last; day++ {
		if err := t.eventsOfDay(ctx, g, uint32(max(day, 0)), span, fn); err != nil { // Days fit 32 bits.
			return err
		}
	}
	return nil
}

func (t Tenant) eventsOfDay(ctx context.Context, g ids.Group, day uint32, span shard.Span, fn func(*ExportedEvent) error) error {
	next, known := uint32(0), false
	for more := true; more; {
		var step []ExportedEvent
		err := t.store.readGroup(g, func(b shard.Queries) {
			if !known {
				next, known = b.FirstEvent(t.marketplace, day, span.From), true
			}
			step, more = t.eventStep(b, day, next, span.To)
		})
		if err == nil {
			err = eachOf(ctx, step, fn)
		}
		if err != nil {
			return err
		}
		next += uint32(len(step)) // At most exportStep.
	}
	return nil
}

// eventStep reads some events of a day from a number on that were committed before a time. It ends after exportStep events or
// items, because one purchase may have event.ItemsMax of them. more is false after the last event.
func (t Tenant) eventStep(b shard.Queries, day, next uint32, before int64) (step []ExportedEvent, more bool) {
	items := 0
	b.Events(t.marketplace, day, next, func(number uint32, e *shard.StoredEvent) bool {
		if e.CommittedMillis >= before {
			return false
		}
		step = append(step, ExportedEvent{StoredEvent: *e, Number: number})
		items += len(e.Items)
		more = len(step) == exportStep || items >= exportStep
		return !more
	})
	names := namesOf{b: b, campaigns: map[uint32]*model.Campaign{}, bids: map[[2]uint32]ids.UUID{}}
	for i := range step {
		names.event(t.marketplace, &step[i])
	}
	return step, more
}

// event names what an event is about. A campaign that is none of the marketplace's was in no token of this node; the event has
// the outcome UnknownBid.
func (n *namesOf) event(marketplace uint16, e *ExportedEvent) {
	switch {
	case e.Campaign != 0:
		if c := n.campaign(e.Campaign); c.Marketplace == marketplace {
			e.VendorID, e.CampaignID, e.BidID = c.VendorID, c.ID, n.bid(e.Campaign, e.Bid)
		}
	case !e.ExternalCampaign.IsZero():
		e.CampaignID = e.ExternalCampaign
		if c, found := n.b.Campaign(e.ExternalCampaign); found {
			e.VendorID = c.VendorID
		}
	}
}
