package serving

import (
	"encoding/binary"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/wire"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// eventScratch is the memory of one events request.
type eventScratch struct {
	batch       event.Batch
	items       []command.PurchaseItem
	shares      []share          // One per group, in the order of their first events. Those between len and cap keep their memory.
	positions   []recordPosition // The position of the record of each event.
	keyPrefixes []uint64         // The first eight bytes of the key of each event.

	core        *Core
	view        *market.View
	marketplace uint16
	currency    string
	location    *time.Location
	hasher      hasher
}

// recordPosition is the position of an event's record: the index of its share, and the index of the record in the share.
type recordPosition struct{ share, position int }

func (es *eventScratch) begin(c *Core, view *market.View, m *model.Marketplace, secret *[32]byte) {
	es.core, es.view, es.marketplace, es.currency, es.location = c, view, m.Ordinal, m.CurrencyCode, time.UTC
	if location := c.Location(m.Ordinal); location != nil {
		es.location = location
	}
	es.hasher.secret, es.hasher.marketplace = secret, m.Ordinal
}

// clearBody removes every reference to the body of the last request, so that the pool does not keep bodies alive.
func (es *eventScratch) clearBody() {
	es.batch.Body, es.view = nil, nil
	clear(es.batch.Events)
	clear(es.batch.Items)
	clear(es.items)
	for i := range es.shares {
		clear(es.shares[i].records)
	}
	es.batch.Events, es.batch.Items, es.items = es.batch.Events[:0], es.batch.Items[:0], es.items[:0]
	es.shares, es.positions, es.keyPrefixes = es.shares[:0], es.positions[:0], es.keyPrefixes[:0]
}

// addEvent makes the record of one event and adds it to the share of the group that stores it. An event with a token goes to
// the group of the token's shard, where its campaign is and is charged. Any other event goes to a group that its id
// determines, also when an external id names its campaign: a repeated event must go to the group of its first version, and
// the external id may have become known, or name another campaign, in between. Reports ask every group.
func (es *eventScratch) addEvent(sc *Scratch, keyring *bidid.Keyring, e *event.Event, nowMillis int64) apierr.Code {
	r := command.EventRecord{
		Key: es.hasher.event(e.Kind, e.ID), Kind: e.Kind,
		OccurredMillis: e.OccurredMillis, Bucket: hourOf(e.OccurredMillis), Cell: cellOf(e.OccurredMillis, es.location),
		UserHash: es.hasher.user(e.UserID),
	}
	shard := ids.Shard(r.Key[0])
	switch {
	case len(e.ResolvedBidID) > 0:
		p, authentic := es.open(keyring, e, nowMillis)
		if !authentic {
			return sc.refuseToken(e)
		}
		shard = p.Shard
		es.resolve(&r, &p, e)
		es.setAd(&r, &p, nowMillis)
	default:
		r.Entity, r.EntityType = e.EntityID, e.EntityType
		if len(e.ExternalCampaign) > 0 {
			r.ExternalCampaign = es.core.ExternalCampaign(es.marketplace, e.ExternalCampaign)
			r.Place = event.PlaceOf(0, e.Device, event.ChannelOf(e.Channel)) // Without a token nobody knows the placement.
		}
		if len(e.ReturnOf) > 0 { // It goes to the group that has the purchase.
			r.ReturnOf = es.hasher.event(event.Purchase, e.ReturnOf)
			shard = ids.Shard(r.ReturnOf[0])
		}
	}
	group := es.core.Topology.GroupOf(shard)
	if r.ReturnOf != [16]byte{} && es.core.level(group) < command.LevelReturns {
		return sc.refuse(apierr.ServiceUnavailable, "returns can be reported when every node of the cluster runs a version that knows them")
	}
	if first := es.repeated(&r.Key); first != nil {
		group, r = es.shares[first.share].group, es.shares[first.share].records[first.position]
	} else {
		r.Items = es.purchase(e)
	}
	es.add(group, &r)
	return apierr.OK
}

// repeated returns the position of the first record of this request with a key, or nil if there is none yet, and stores the
// key. A repeated event takes the record of its first version, so that it is found to be a duplicate: with another token or
// time it would go to another group or hour.
func (es *eventScratch) repeated(key *[16]byte) *recordPosition {
	begin := binary.LittleEndian.Uint64(key[:])
	es.keyPrefixes = append(es.keyPrefixes, begin)
	for i, other := range es.keyPrefixes[:len(es.keyPrefixes)-1] {
		if p := &es.positions[i]; other == begin && es.shares[p.share].records[p.position].Key == *key {
			return p
		}
	}
	return nil
}

// open opens an event's token and reports whether it is authentic. A token that was issued more than
// event.FutureMillisMax after nowMillis is not: no clock of the cluster is that far ahead.
func (es *eventScratch) open(keyring *bidid.Keyring, e *event.Event, nowMillis int64) (bidid.Payload, bool) {
	p, authentic := keyring.Open(es.marketplace, e.ResolvedBidID)
	return p, authentic && p.IssuedMillis <= nowMillis+event.FutureMillisMax
}

// forged returns the first event before a fault whose token is not authentic, or nil if there is none. The parser has no
// keys, so it cannot find such an event, and the first violation must be answered.
func (es *eventScratch) forged(keyring *bidid.Keyring, nowMillis int64, fault *wire.Fault) *event.Event {
	for i := range es.batch.Events {
		e := &es.batch.Events[i]
		if !fault.Follows(e) {
			return nil // Events are in the interface's order, so all others come after the fault too.
		}
		if len(e.ResolvedBidID) == 0 {
			continue
		}
		if _, authentic := es.open(keyring, e, nowMillis); !authentic {
			return e
		}
	}
	return nil
}

// resolve sets the fields of a record that come from its token. The token alone decides campaign, price and charge type.
// A bid of external demand is counted under no campaign and never charged.
func (es *eventScratch) resolve(r *command.EventRecord, p *bidid.Payload, e *event.Event) {
	paidBy := e.Kind
	if p.Charge == model.CPA && !p.External {
		paidBy = event.Purchase // One purchase pays for the token, whichever of its interactions is credited.
	}
	r.ChargeKey = es.hasher.charge(paidBy, e.ResolvedBidID)
	r.Bucket = hourOf(p.IssuedMillis)
	r.Place = event.PlaceOf(p.PlacementIndex, e.Device, event.ChannelOf(e.Channel))
	if p.External {
		return
	}
	r.Charge, r.Campaign, r.Bid, r.Price = p.Charge, p.Campaign, p.Bid, p.Price
}

// setAd sets what a click rate is learned from: the rank and product of the ad, and how long after the auction the event
// arrived. Nothing is learned from external demand, which has no campaign. The age ends with the arrival and not with
// occurredAt, because money is held for an ad until its click is committed. Ages are bounded, and a token of a node whose
// clock is ahead has the age 0.
func (es *eventScratch) setAd(r *command.EventRecord, p *bidid.Payload, nowMillis int64) {
	if p.External || r.Kind != event.Impression && r.Kind != event.Click {
		return
	}
	r.Rank = p.Rank
	r.AgeSeconds = uint32(min(max(nowMillis-p.IssuedMillis, 0)/1000, event.AgeSecondsMax)) // Within the bound.
	r.Product = es.view.ProductOfBid(es.marketplace, es.core.Topology.GroupOf(p.Shard), p.Bid)
}

// purchase returns the items of a purchase with their prices resolved; nil for other events.
func (es *eventScratch) purchase(e *event.Event) []command.PurchaseItem {
	first := len(es.items)
	for _, item := range es.batch.Items[e.FirstItem : e.FirstItem+e.Items] {
		if len(e.ReturnOf) > 0 { // The prices are those of the purchase.
			es.items = append(es.items, command.PurchaseItem{ProductID: item.ProductID, Quantity: item.Quantity})
			continue
		}
		price := item.UnitPrice
		if !item.HasPrice {
			price = es.core.CatalogPrice(es.marketplace, item.ProductID)
		}
		es.items = append(es.items, command.PurchaseItem{
			ProductID: item.ProductID, VendorID: item.VendorID, Quantity: item.Quantity, UnitPrice: price,
			Unknown: !es.view.InCatalog(es.marketplace, item.ProductID),
		})
	}
	return es.items[first:len(es.items):len(es.items)]
}

// refuseToken refuses an event for its resolvedBidId. The message does not say why the token is not authentic.
func (sc *Scratch) refuseToken(e *event.Event) apierr.Code {
	sc.message = append(sc.message[:0], e.Kind.String()...)
	sc.message = append(sc.message, '[')
	sc.message = appendInt(sc.message, e.Index)
	sc.message = append(sc.message, "].resolvedBidId is not authentic for this marketplace"...)
	return apierr.InvalidResolvedBidID
}

// hourOf returns the hour of a time since 1970, which is the bucket in which an idempotency key is stored; 0 before 1970.
func hourOf(millis int64) uint32 {
	return uint32(max(0, millis) / 3_600_000) // It fits until the year 491,936.
}

// cellOf returns the rollup cell of a time: the start of its local hour in quarters of an hour since 1970. Time zones
// differ from UTC by multiples of a quarter, so a cell represents the start of any local hour exactly.
func cellOf(millis int64, location *time.Location) uint32 {
	seconds := max(0, millis) / 1000
	_, offset := time.Unix(seconds, 0).In(location).Zone()
	cell, _ := command.CellOf(seconds, int64(offset))
	return cell
}
