package shardtest

import (
	"math/big"
	"reflect"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

func micros(n *big.Int) money.Micros {
	if !n.IsInt64() {
		panic("the model left the range of amounts")
	}
	return money.Micros(n.Int64())
}

func refuse(why command.Refusal, index int) command.Result {
	return command.Result{Refusal: why, Index: index}
}

// Marketplace applies a PutMarketplace.
func (m *Model) Marketplace(x model.Marketplace) command.Result {
	turned := m.postPaid(x.Ordinal) != x.PostPaid
	m.Marketplaces[x.Ordinal] = &x
	if turned {
		m.journalBillingMode()
	}
	return command.Result{}
}

// Feature applies a SetFeature.
func (m *Model) Feature(level command.Level) command.Result {
	if m.Level < command.LevelPlaces && level >= command.LevelPlaces {
		m.countedWithoutPlaces = len(m.Events)+len(m.Credits) > 0
	}
	m.Level = max(m.Level, level)
	return command.Result{}
}

// journalBudget adds the line of a budget in force.
func (m *Model) journalBudget(c *Campaign) {
	m.Lines = append(m.Lines, Line{Campaign: c.Ordinal, Key: c.ID, Amount: new(big.Int).Set(c.Spent)})
	if c.Carried.Counts {
		m.Lines = append(m.Lines, Line{Campaign: c.Ordinal, Key: c.ID, Amount: c.Carried.left()})
	}
}

// journalBillingMode adds the line of a billing mode.
func (m *Model) journalBillingMode() { m.Lines = append(m.Lines, Line{Amount: new(big.Int)}) }

// Adjust applies an AdjustWallet.
func (m *Model) Adjust(a *command.AdjustWallet) command.Result {
	if balance, repeated := m.adjusts[a.Request]; repeated {
		return command.Result{Balance: micros(balance)}
	}
	w := m.wallet(a.Marketplace, a.VendorID, a.Wallet)
	if w == nil {
		return refuse(command.NotFound, 0)
	}
	if len(a.Others) > 0 {
		return m.withdraw(a, w)
	}
	balance := new(big.Int).Add(w.Balance, big.NewInt(int64(a.Amount)))
	if a.Strict && a.Amount < 0 && balance.Sign() < 0 {
		return refuse(command.InsufficientBalance, 0)
	}
	w.Balance.Set(balance)
	w.Deposited.Add(w.Deposited, big.NewInt(int64(a.Amount)))
	m.Wallets[w.ID] = w
	m.adjusts[a.Request] = new(big.Int).Set(balance)
	m.Lines = append(m.Lines, Line{Key: a.Request, Amount: big.NewInt(int64(a.Amount))})
	m.addEntry(w, ids.UUID{}, a.Description)
	m.emptied(w, new(big.Int).Sub(balance, big.NewInt(int64(a.Amount))))
	return command.Result{Balance: micros(balance)}
}

// withdraw applies an AdjustWallet that may take from several wallets.
func (m *Model) withdraw(a *command.AdjustWallet, w *Wallet) command.Result {
	all, sum := []*Wallet{w}, new(big.Int)
	for i, id := range a.Others {
		other := m.Wallets[id]
		if other == nil || other.Marketplace != a.Marketplace || other.Vendor != a.VendorID {
			return refuse(command.NotFound, i)
		}
		if slices.Contains(all, other) {
			return refuse(command.Invalid, i)
		}
		all = append(all, other)
	}
	for _, x := range all {
		if x.Balance.Sign() > 0 {
			sum.Add(sum, x.Balance)
		}
	}
	amount := big.NewInt(-int64(a.Amount))
	if sum.Cmp(amount) < 0 {
		return refuse(command.InsufficientBalance, 0)
	}
	for _, x := range all {
		part := new(big.Int).Set(amount)
		if x.Balance.Cmp(part) < 0 {
			part.Set(x.Balance)
		}
		if part.Sign() <= 0 {
			continue
		}
		amount.Sub(amount, part)
		before := new(big.Int).Set(x.Balance)
		x.Balance.Sub(x.Balance, part)
		x.Deposited.Sub(x.Deposited, part)
		m.Lines = append(m.Lines, Line{Key: a.Request, Amount: new(big.Int).Neg(part)})
		m.addEntry(x, ids.UUID{}, a.Description)
		m.emptied(x, before)
	}
	m.adjusts[a.Request] = new(big.Int).Set(w.Balance)
	return command.Result{Balance: micros(w.Balance)}
}

func (m *Model) wallet(marketplace uint16, vendor string, id ids.UUID) *Wallet {
	byDefault := ids.DefaultWalletOf(marketplace, vendor)
	if id.IsZero() {
		id = byDefault
	}
	if w := m.Wallets[id]; w != nil {
		if w.Marketplace != marketplace || w.Vendor != vendor {
			return nil
		}
		return w
	}
	if id != byDefault {
		return nil
	}
	return newWallet(id, marketplace, vendor)
}

// Create applies a CreateCampaign.
func (m *Model) Create(x *command.CreateCampaign) command.Result {
	for _, c := range m.Campaigns {
		if c.ID == x.Campaign.ID {
			return command.Result{FirstOrdinal: c.First}
		}
	}
	if m.deleted(&x.Campaign) {
		return refuse(command.VendorDeleted, 0)
	}
	if m.unbounded(&x.Campaign) {
		return refuse(command.NeedsTotal, 0)
	}
	for _, c := range m.Campaigns {
		if x.Campaign.ExternalID != "" && c.ExternalID == x.Campaign.ExternalID && c.Format == x.Campaign.Format &&
			c.Marketplace == x.Campaign.Marketplace {
			return refuse(command.AlreadyExists, 0)
		}
	}
	w := m.wallet(x.Campaign.Marketplace, x.Campaign.VendorID, x.Campaign.Wallet)
	if w == nil {
		return refuse(command.NotFound, 0)
	}
	for i := range x.Bids {
		if m.bid(x.Bids[i].ID) != nil {
			return refuse(command.AlreadyExists, i)
		}
	}
	for i := range x.Bids {
		if m.rivals(&x.Campaign, &x.Bids[i]) {
			return refuse(command.AlreadyExists, i)
		}
	}
	m.Wallets[w.ID] = w
	c := &Campaign{Campaign: x.Campaign, Spent: new(big.Int), SpentTotal: new(big.Int), First: m.bids + 1}
	m.begin(c)
	c.Overdelivered, c.OverdeliveredTotal = new(big.Int), new(big.Int)
	c.Ordinal = uint32(len(m.Campaigns) + 1)
	c.Campaign.Wallet = w.ID
	c.PeriodNumber, c.Carried = number(m.Periods[c.Marketplace], c.Period), m.carried(c)
	m.Campaigns = append(m.Campaigns, c)
	m.journalBudget(c)
	for i := range x.Bids {
		m.add(c, x.Bids[i])
	}
	return command.Result{FirstOrdinal: c.First}
}

func (m *Model) add(c *Campaign, b model.Bid) {
	m.bids++
	b.Ordinal = m.bids
	c.Bids = append(c.Bids, &b)
}

func (m *Model) bid(id ids.UUID) *model.Bid {
	for _, c := range m.Campaigns {
		if i := slices.IndexFunc(c.Bids, func(b *model.Bid) bool { return b.ID == id }); i >= 0 {
			return c.Bids[i]
		}
	}
	return nil
}

// LiveBids lists the bids of a campaign that are not deleted.
func (c *Campaign) LiveBids() (all []model.Bid) {
	for _, b := range c.Bids {
		if !b.Deleted {
			all = append(all, *b)
		}
	}
	return all
}

func (m *Model) campaign(marketplace uint16, id ids.UUID) *Campaign {
	for _, c := range m.Campaigns {
		if c.ID == id && c.Marketplace == marketplace {
			return c
		}
	}
	return nil
}

// PutBids applies a PutBids.
func (m *Model) PutBids(p *command.PutBids) command.Result {
	c := m.campaign(p.Marketplace, p.Campaign)
	if c == nil {
		return refuse(command.NotFound, 0)
	}
	if c.Status == model.Terminated {
		return refuse(command.WrongState, 0)
	}
	first, alive := uint32(0), len(c.LiveBids())
	for i, b := range p.Bids {
		old := m.bid(b.ID)
		switch own := old != nil && slices.Contains(c.Bids, old); {
		case old != nil && !own:
			if b.Deleted {
				return refuse(command.NotFound, i)
			}
			return refuse(command.AlreadyExists, i)
		case old == nil && !b.Deleted && m.rivals(&c.Campaign, &b):
			return refuse(command.AlreadyExists, i)
		case own && old.Deleted && !b.Deleted, !own && b.Deleted:
			return refuse(command.NotFound, i)
		case own:
			if first == 0 && i == 0 {
				first = old.Ordinal
			}
			if b.Deleted && !old.Deleted {
				alive--
			}
		default:
			alive++
			if first <= m.bids {
				first = m.bids + 1
			}
		}
		if alive > shard.BidsMax {
			return refuse(command.TooMany, i)
		}
	}
	for _, b := range p.Bids {
		old := m.bid(b.ID)
		if old == nil {
			m.add(c, b)
		} else if !old.Deleted {
			old.Amount, old.Active, old.Deleted, old.Location, old.Triggers = b.Amount, b.Active, b.Deleted, b.Location, b.Triggers
			old.UpdatedMillis = b.UpdatedMillis
		}
	}
	return command.Result{FirstOrdinal: first}
}

// Patch applies a PatchCampaign that changes state, budget, period, activity, dates or the document. seen is the
// campaign as its proposer has read it, when the command has an expectation.
func (m *Model) Patch(p *command.PatchCampaign, seen *model.Campaign) command.Result {
	c := m.campaign(p.Marketplace, p.Campaign)
	if c == nil {
		return refuse(command.NotFound, 0)
	}
	if c.Status == model.Terminated {
		if p.Status != nil && *p.Status == model.Terminated {
			return command.Result{}
		}
		return refuse(command.WrongState, 0)
	}
	if seen != nil && changed(seen, &c.Campaign, p.Expect.Members) {
		return refuse(command.Conflict, 0)
	}
	if m.deleted(&c.Campaign) && p.Active != nil && *p.Active {
		return refuse(command.VendorDeleted, 0)
	}
	if p.Budget != nil || p.Period != nil {
		after := c.Campaign
		if p.Budget != nil {
			after.Budget = *p.Budget
		}
		if p.Period != nil {
			after.Period = *p.Period
		}
		if m.unbounded(&after) {
			return refuse(command.NeedsTotal, 0)
		}
	}
	if p.StartMillis != nil || p.EndMillis != nil || p.Status != nil {
		after := c.Campaign
		if p.StartMillis != nil {
			after.StartMillis = *p.StartMillis
		}
		if p.EndMillis != nil {
			after.EndMillis = *p.EndMillis
		}
		if p.Status != nil {
			after.Status = *p.Status
		}
		for _, b := range c.LiveBids() {
			if m.rivals(&after, &b) {
				return refuse(command.AlreadyExists, 0)
			}
		}
	}
	budget, spent, period, payer := c.Budget, c.Spent, c.PeriodNumber, c.Campaign.Wallet
	counts := c.Carried.Counts
	if p.Wallet != nil {
		w := m.wallet(c.Marketplace, c.VendorID, *p.Wallet)
		if w == nil {
			return refuse(command.NotFound, 0)
		}
		m.Wallets[w.ID] = w
		c.Campaign.Wallet = w.ID
	}
	if p.StartMillis != nil {
		c.StartMillis = *p.StartMillis
	}
	if p.EndMillis != nil {
		c.EndMillis = *p.EndMillis
	}
	if p.TargetROASMilli != nil {
		c.TargetROASMilli = *p.TargetROASMilli
	}
	if p.HoldoutPercent != nil {
		c.HoldoutPercent = *p.HoldoutPercent
	}
	if p.Document != nil {
		c.Document = p.Document
	}
	if p.Active != nil {
		c.Active = *p.Active
	}
	if p.Budget != nil {
		c.Budget = *p.Budget
	}
	if p.Status != nil {
		c.Status = *p.Status
	}
	if p.Name != nil {
		c.Name = *p.Name
	}
	if p.Period != nil && *p.Period != c.Period {
		c.Period = *p.Period
		c.PeriodNumber, c.Carried = number(m.Periods[c.Marketplace], c.Period), m.carried(c)
		if c.Period == model.Total {
			c.Spent, c.Overdelivered = new(big.Int).Set(c.SpentTotal), new(big.Int).Set(c.OverdeliveredTotal)
		}
	}
	if c.Status == model.Terminated {
		c.Paced = nil
	}
	c.UpdatedMillis = m.Now
	if c.Budget != budget || c.Spent.Cmp(spent) != 0 || c.PeriodNumber != period || c.Campaign.Wallet != payer ||
		c.Carried.Counts != counts {
		m.journalBudget(c)
	}
	return command.Result{}
}

// rivals reports whether another exclusive campaign has the product of a bid at the same time.
func (m *Model) rivals(c *model.Campaign, b *model.Bid) bool {
	if m.Level < command.LevelPacing || c.Type != model.Exclusive || b.TargetType != model.TargetProduct {
		return false
	}
	runs := func(x *model.Campaign) bool { return x.Status == model.Pending || x.Status == model.Approved }
	ends := func(x *model.Campaign, after int64) bool { return x.EndMillis == 0 || x.EndMillis > after }
	for _, x := range m.Campaigns {
		if x.ID == c.ID || x.Type != model.Exclusive || x.Marketplace != c.Marketplace || x.Format != c.Format {
			continue
		}
		if !runs(&x.Campaign) || !runs(c) || !ends(&x.Campaign, c.StartMillis) || !ends(c, x.StartMillis) {
			continue
		}
		for _, other := range x.LiveBids() {
			if other.TargetType == model.TargetProduct && other.Target == b.Target {
				return true
			}
		}
	}
	return false
}

// deleted reports whether the vendor of a campaign is marked as deleted.
func (m *Model) deleted(c *model.Campaign) bool {
	_, marked := m.Marks[Name{Market: c.Marketplace, ID: c.VendorID}]
	return marked
}

// unbounded reports whether a campaign that is paid by purchases can cost more than a budget says.
func (m *Model) unbounded(c *model.Campaign) bool {
	return m.Level >= command.LevelCampaignRules && c.Charge == model.CPA && (c.Period != model.Total || c.Budget == 0)
}

// MarkVendors applies a MarkVendors.
func (m *Model) MarkVendors(p *command.MarkVendors) command.Result {
	for i, x := range p.Marks {
		if m.Marks[Name{Market: p.Marketplace, ID: x.VendorID}] != x.Expect {
			return refuse(command.Conflict, i)
		}
	}
	for _, x := range p.Marks {
		if name := (Name{Market: p.Marketplace, ID: x.VendorID}); x.Deletion.IsZero() {
			delete(m.Marks, name)
		} else {
			m.Marks[name] = x.Deletion
		}
	}
	return command.Result{}
}

// changed compares the members of a campaign that an expectation of the Generator can name, one by one.
func changed(seen, now *model.Campaign, members command.Members) bool {
	return members&command.MembersDates != 0 && (seen.StartMillis != now.StartMillis || seen.EndMillis != now.EndMillis) ||
		members&command.MembersStatus != 0 && seen.Status != now.Status ||
		members&command.MembersDocument != 0 && string(seen.Document) != string(now.Document)
}

// PatchBid applies a PatchBid.
func (m *Model) PatchBid(p *command.PatchBid) command.Result {
	c := m.campaign(p.Marketplace, p.Campaign)
	if c == nil {
		return refuse(command.NotFound, 0)
	}
	if c.Status == model.Terminated {
		return refuse(command.WrongState, 0)
	}
	b := m.bid(p.Bid)
	if b == nil || b.Deleted || !slices.Contains(c.Bids, b) {
		return refuse(command.NotFound, 0)
	}
	if p.Amount != nil {
		b.Amount = *p.Amount
	}
	if p.Active != nil {
		b.Active = *p.Active
	}
	if p.Location != nil {
		b.Location = *p.Location
	}
	if p.Triggers != nil {
		b.Triggers = *p.Triggers
	}
	b.Deleted = p.Delete
	b.UpdatedMillis = m.Now
	return command.Result{}
}

// ReplaceMarketplace applies a PutMarketplace whose proposer has read the settings seen.
func (m *Model) ReplaceMarketplace(x, seen model.Marketplace) command.Result {
	now := m.Marketplaces[x.Ordinal]
	if now == nil {
		return refuse(command.NotFound, 0)
	}
	if !reflect.DeepEqual(*now, seen) {
		return refuse(command.Conflict, 0)
	}
	return m.Marketplace(x)
}
