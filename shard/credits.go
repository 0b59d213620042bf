package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// OpenCreditsMax is how many purchases of a group may wait to be credited. BOUND: they wait while a group cannot be
// read, for some 300 bytes each; a purchase beyond is counted as sold and credited to nobody.
const OpenCreditsMax = 1 << 20

// openCredit lists a purchase among those whose items are to be credited. See command.DecideCredits for the steps.
func (m *Machine) openCredit(marketplace uint16, r *command.EventRecord) {
	if r.UserHash == 0 || len(r.Items) == 0 || m.openCredits >= OpenCreditsMax {
		return
	}
	o := command.OpenCredit{
		Marketplace: marketplace, UserHash: r.UserHash, OccurredMillis: r.OccurredMillis,
		Items: make([]command.CreditItem, len(r.Items)),
	}
	for i := range r.Items {
		item := &r.Items[i]
		o.Items[i] = command.CreditItem{
			ProductID: string(item.ProductID), VendorID: string(item.VendorID), Quantity: item.Quantity,
			UnitPrice: item.UnitPrice, Unknown: item.Unknown,
		}
	}
	name := command.PurchaseName{OpenedMillis: m.state.now, Key: r.Key}
	m.openCredits++
	m.put(keyOpenCredit(nil, &name), command.AppendOpenCredit(nil, &o))
}

// decideCredits records decisions about purchases of this group. The first decision is final; a purchase of which
// nothing is credited is closed.
func (m *Machine) decideCredits(x *command.DecideCredits) command.Result {
	for i := range x.Decisions {
		d := &x.Decisions[i]
		key := keyOpenCredit(nil, &d.Purchase)
		stored, found := m.get(key)
		if !found {
			continue
		}
		o := must(readOpenCredit(stored))
		switch {
		case o.Decided:
			continue
		case len(d.Credits) == 0:
			m.closeCredit(key)
		default:
			o.Decided, o.Credits = true, d.Credits
			m.put(key, command.AppendOpenCredit(nil, &o))
		}
		m.recordDecision(d, &o)
	}
	return command.Result{}
}

// closeCredits forgets purchases whose credits are carried out.
func (m *Machine) closeCredits(x *command.CloseCredits) command.Result {
	for i := range x.Purchases {
		key := keyOpenCredit(nil, &x.Purchases[i])
		if _, found := m.get(key); found {
			m.closeCredit(key)
		}
	}
	return command.Result{}
}

func (m *Machine) closeCredit(key []byte) {
	m.openCredits--
	m.put(key, nil)
}

// applyCredits counts and charges the items of purchases that were credited to touches of this group.
//
// INVARIANT: an item of a purchase is credited at most once. Its record is kept as long as a command about it can have
// an effect: both follow from the day on which the purchase was opened.
//
// It refuses all of them while the marketplace of one is closed: the purchases stay open, and the other cell credits them.
func (m *Machine) applyCredits(x *command.ApplyCredits) command.Result {
	for i := range x.Credits {
		if m.closed(x.Credits[i].Marketplace) {
			return refused(command.MarketplaceClosed, i)
		}
	}
	for i := range x.Credits {
		c := &x.Credits[i]
		if uint64(c.Campaign) > uint64(len(m.campaigns)) || c.Campaign == 0 || dayOf(c.Purchase.OpenedMillis) < m.firstDay(daysKept) {
			continue
		}
		to := m.campaigns[c.Campaign-1]
		key := keyCredit(nil, &c.Purchase, c.Item)
		if _, found := m.get(key); found || to.Marketplace != c.Marketplace || !creditFits(c) {
			continue
		}
		charged := m.chargePurchase(to, c)
		stored := StoredCredit{Credit: *c, Charged: charged.Charged}
		if m.state.level >= command.LevelUsers {
			stored.UserHash = 0 // Nothing reads it, and so the record need not be found when the user is erased.
		}
		value := appendCredit(&stored)
		m.putOver(key, value, 0)
		m.addToDay(dayIn(tableCredit, dayOf(c.Purchase.OpenedMillis)), m.hashOf(key, value))
		m.countCredit(to, c, charged)
		if charged.Charged > 0 {
			m.countParticipant(to.Marketplace, c.UserHash, c.Purchase.OpenedMillis, Participant{Spent: charged.Charged})
		}
		m.recordConversion(to, c)
		m.teachCredit(to, x.Credits, i)
	}
	return command.Result{}
}

// creditFits reports whether the product of a credit is short enough to become part of a key.
func creditFits(c *command.Credit) bool { return len(c.Product) <= textMax }

// chargePurchase charges a credited item if its touch's token is paid by a purchase and no purchase has paid for it yet.
func (m *Machine) chargePurchase(c *campaign, x *command.Credit) command.EventResult {
	none := command.EventResult{Outcome: command.Counted}
	if x.Price == 0 || ids.UUID(x.ChargeKey).IsZero() || c.Status == model.Terminated {
		return none
	}
	if x.Issued < event.ChargeHorizon(event.Purchase, m.state.now) {
		return none
	}
	k := m.dedup.bucket(bucketID{classPurchase, x.Issued}, m.state.now)
	if !m.claim(k, &x.ChargeKey) {
		return none
	}
	l := ledger.Line{Kind: ledger.PurchaseCharge, Bid: x.Bid, Key: x.ChargeKey, Price: x.Price}
	return m.debit(c, k, l, countedIn{x.Cell, x.Product})
}

// countCredit adds a credited item to the counters of the touch's bid and hour, and to those of the product sold.
func (m *Machine) countCredit(c *campaign, x *command.Credit, charged command.EventResult) {
	m.key = keyCampaignCell(m.key[:0], c.ID, x.Cell, x.Bid)
	counters := m.cell(m.key)
	countSale(counters, x, charged.Charged)
	over := m.overdeliver(c, charged.Clipped)
	counters.Overdelivery += over
	if places := m.placeOf(m.key, x.Place); places != nil {
		countSale(places, x, charged.Charged)
		places.Overdelivery += over
	}
	m.key = keySoldCell(m.key[:0], c.ID, x.Cell, x.Product)
	countSale(m.cell(m.key), x, charged.Charged)
}

// recordConversion reports a credited item to the frequency caps of the campaign.
func (m *Machine) recordConversion(c *campaign, x *command.Credit) {
	if len(c.Caps) == 0 || x.UserHash == 0 {
		return
	}
	p := &m.tenant(c.Marketplace).periods
	m.feed.RecordExposure(&c.Campaign, &market.Exposure{
		User: x.UserHash, Bid: x.Bid, Day: p.Day, Week: p.Week, Month: p.Month, Interaction: model.CapConversions,
	})
}

func readOpenCredit(b []byte) (o command.OpenCredit, err error) {
	d := command.NewDecoder(b)
	d.OpenCredit(&o)
	return o, d.Err()
}

// forgetBuyer removes a user from the purchases that are to be credited. One that is not decided is closed, because none
// of its touches are left; one that is decided is counted and charged as decided.
func (m *Machine) forgetBuyer(marketplace uint16, user uint64) {
	m.scanCold([]byte{tableOpenCredit}, func(key, value []byte) {
		o := must(readOpenCredit(value))
		found := o.UserHash == user
		for i := range o.Credits {
			found = found || o.Credits[i].UserHash == user
		}
		switch {
		case o.Marketplace != marketplace || !found:
		case !o.Decided:
			m.closeCredit(key)
		default:
			m.put(key, command.AppendOpenCredit(nil, withoutUser(&o, user)))
		}
	})
}

func withoutUser(o *command.OpenCredit, user uint64) *command.OpenCredit {
	if o.UserHash == user {
		o.UserHash = 0
	}
	for i := range o.Credits {
		if o.Credits[i].UserHash == user {
			o.Credits[i].UserHash = 0
		}
	}
	return o
}

// StoredCredit is an item of a purchase that was credited to a touch of the group, and what was charged for it.
type StoredCredit struct {
	command.Credit
	Charged  money.Micros
	Returned int64 // How many pieces came back. INVARIANT: at most Quantity, and none of them is counted any more.
}

func appendCredit(s *StoredCredit) []byte {
	dst := command.AppendCredit(binary.AppendUvarint(nil, uint64(s.Charged)), &s.Credit) // Not negative.
	if s.Returned == 0 {
		return dst
	}
	return binary.AppendUvarint(dst, uint64(s.Returned)) // Not negative.
}

func readCredit(b []byte) (s StoredCredit, err error) {
	d := command.NewDecoder(b)
	s.Charged = money.Micros(d.Uvarint()) // Written from a Micros.
	d.Credit(&s.Credit)
	if d.More() {
		s.Returned = int64(d.Uvarint()) // Written from an int64.
	}
	return s, d.Err()
}

// OpenPurchase is a purchase whose items are not credited yet, or not everywhere.
type OpenPurchase struct {
	Name command.PurchaseName
	command.OpenCredit
}

// OpenCredits lists purchases that are to be credited, oldest first: at most limit, and no more once they have as many
// items as itemsMax. Those of closed marketplaces are left out.
func (b Queries) OpenCredits(limit, itemsMax int) (all []OpenPurchase) {
	skips := b.skipsClosed()
	b.R.Scan([]byte{tableOpenCredit}, []byte{tableOpenCredit + 1}, func(key, value []byte) bool {
		open := OpenPurchase{purchaseNameOf(key), must(readOpenCredit(value))}
		if skips(open.Marketplace) {
			return true
		}
		all = append(all, open)
		itemsMax -= len(open.Items)
		return len(all) < limit && itemsMax > 0
	})
	return all
}

// OpenCredit returns an open purchase.
func (b Queries) OpenCredit(n *command.PurchaseName) (command.OpenCredit, bool) {
	stored, found := b.R.Get(keyOpenCredit(nil, n))
	if !found {
		return command.OpenCredit{}, false
	}
	return must(readOpenCredit(stored)), true
}

// Credit returns an item that was credited to a touch of this group, as long as it is kept.
func (b Queries) Credit(n *command.PurchaseName, item uint16) (StoredCredit, bool) {
	stored, found := b.R.Get(keyCredit(nil, n, item))
	if !found {
		return StoredCredit{}, false
	}
	return must(readCredit(stored)), true
}

// CreditsOf lists the items of a purchase that were credited to touches of this group, when the purchase was opened on one of the
// days [from, to]. The key is that of the purchase's event.
func (b Queries) CreditsOf(key [16]byte, from, to uint32) (all []StoredCredit) {
	for day := from; day <= to; day++ {
		prefix := append(appendU32([]byte{tableCredit}, day), key[:]...)
		b.R.Scan(prefix, prefixEnd(prefix), func(_, value []byte) bool {
			all = append(all, must(readCredit(value)))
			return true
		})
	}
	return all
}

func purchaseNameOf(key []byte) command.PurchaseName {
	return command.PurchaseName{OpenedMillis: int64(binary.BigEndian.Uint64(key[1:])), Key: [16]byte(key[9:])} // Written from an int64.
}

func (l *loader) loadOpenCredit(value []byte) error {
	l.m.openCredits++
	_, err := readOpenCredit(value)
	return err
}

func (l *loader) loadCredit(key, value []byte) error {
	if l.m.days.all[dayIn(tableCredit, binary.BigEndian.Uint32(key))] == nil {
		return errors.New("credit without day")
	}
	_, err := readCredit(value)
	return err
}
