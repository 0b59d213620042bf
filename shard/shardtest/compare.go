package shardtest

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Compare returns every difference between a replica's committed state and the model, and every broken promise: a
// charge above the budget in force or the balance of a prepaid wallet (Line.Over), and errors of Queries.Verify.
func (m *Model) Compare(r *Replica) error {
	b := r.Queries()
	var all []error
	fail := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	if b.Clock() != m.Now {
		fail("clock is %d, not %d", b.Clock(), m.Now)
	}
	if r.Feed.Pending() {
		fail("something fed was not published")
	}
	m.compareMoney(r, b, fail)
	m.compareAccounts(b, fail)
	m.compareCatalog(b, fail)
	m.compareNotices(b, fail)
	m.compareAuditEntries(b, fail)
	m.comparePaces(r, b, fail)
	m.compareLearned(r, b, fail)
	m.compareAuctions(b, fail)
	m.compareCredits(b, fail)
	m.compareLinks(b, fail)
	m.compareEnrolments(b, fail)
	m.compareParticipants(b, fail)
	m.compareEvents(b, fail)
	if err := b.Verify(); err != nil {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (m *Model) compareMoney(r *Replica, b shard.Queries, fail func(string, ...any)) {
	for id, w := range m.Wallets {
		got, _ := b.Wallet(id)
		if !same(got.Balance, w.Balance) || !same(got.Spent, w.Spent) || !same(got.Deposited, w.Deposited) ||
			!same(got.Transferred, w.Transferred) || got.VendorID != w.Vendor || got.EmptiedCount != w.Emptied {
			fail("wallet of %s is %+v, not %+v", w.Vendor, got, w)
		}
	}
	for _, c := range m.Campaigns {
		got, _ := b.Campaign(c.ID)
		if !reflect.DeepEqual(got.Campaign, withGroup(c.Campaign, got.Group)) {
			fail("campaign is %+v, not %+v", got.Campaign, c.Campaign)
		}
		if !same(got.Money.Spent, c.Spent) || !same(got.Money.SpentTotal, c.SpentTotal) ||
			got.Money.Amount != c.Budget || got.Money.Period != c.PeriodNumber ||
			!same(got.Money.Carried, onTop(&c.Carried)) || !same(got.Money.Saved, c.Carried.left()) {
			fail("campaign %d spent %+v, not %v, %v of %v", c.Ordinal, got.Money, c.Spent, c.SpentTotal, c.Budget)
		}
		if !same(got.Money.Overdelivered, c.Overdelivered) || !same(got.Money.OverdeliveredTotal, c.OverdeliveredTotal) {
			fail("campaign %d delivered %+v, not %v and %v", c.Ordinal, got.Money, c.Overdelivered, c.OverdeliveredTotal)
		}
		if bids, _ := b.Bids(c.Ordinal, 0, math.MaxInt); !reflect.DeepEqual(bids, c.LiveBids()) || got.BidCount != len(bids) {
			fail("campaign %d has bids %+v, not %+v", c.Ordinal, bids, c.LiveBids())
		}
		if got, want := b.CampaignCounters(c.ID, 0, math.MaxUint32), m.Count(c.ID, c.Marketplace); got != want {
			fail("campaign %d counts %+v, not %+v", c.Ordinal, got, want)
		}
		m.comparePlaces(b, c, fail)
		m.compareBalances(c, r.Feed.Balances[c.ID], fail)
	}
	var n int
	b.Journal(0, func(l *ledger.Line) bool {
		if n++; n > len(m.Lines) {
			return false
		}
		want := m.Lines[n-1]
		if l.Campaign != want.Campaign || l.Key != want.Key || !same(l.Amount, want.Amount) {
			fail("line %d is %+v, not %+v", n, l, want)
		}
		if want.Over {
			fail("line %d charged more than budget or wallet had", n)
		}
		return true
	})
	if n != len(m.Lines) {
		fail("%d lines, not %d", n, len(m.Lines))
	}
}

// compareBalances compares the balances that auctions read with those of the model.
func (m *Model) compareBalances(c *Campaign, balances *market.Balances, fail func(string, ...any)) {
	left, funds := int64(math.MaxInt64), int64(math.MaxInt64)
	if c.Budget > 0 {
		left = max(0, c.limit().Int64()-c.Spent.Int64())
	}
	if !m.postPaid(c.Marketplace) {
		funds = m.Wallets[c.Campaign.Wallet].Balance.Int64()
	}
	if balances == nil || balances.BudgetLeft.Load() != left || balances.WalletBalance.Load() != funds {
		fail("auctions do not read %d of the budget and %d of the wallet of campaign %d", left, funds, c.Ordinal)
	}
}

func (m *Model) compareCatalog(b shard.Queries, fail func(string, ...any)) {
	records, _ := b.Records(command.RecordAPIKey, 1, "", math.MaxInt)
	if len(records) != len(m.Records) {
		fail("%d records, not %d", len(records), len(m.Records))
	}
	for _, got := range records {
		if want := m.Records[Name{command.RecordAPIKey, 1, got.ID}]; got.Class != want.Class || string(got.Value) != want.Value {
			fail("record is %+v, not %+v", got, want)
		}
	}
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		for _, v := range []string{"v0", "v1", "v2"} {
			if got, want := b.Deletion(marketplace, v), m.Marks[Name{Market: marketplace, ID: v}]; got != want {
				fail("vendor %s of %d has mark %v, not %v", v, marketplace, got, want)
			}
		}
	}
	products, categories := 0, 0
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		all, _ := b.Products(marketplace, "", math.MaxInt)
		products += len(all)
		for _, got := range all {
			if want := m.Products[Name{Market: marketplace, ID: got.ID}]; !reflect.DeepEqual(got, want) {
				fail("product is %+v, not %+v", got, want)
			}
			if of, _ := b.ProductsOf(marketplace, got.Vendors[0], "", math.MaxInt); !contains(of, got.ID) {
				fail("product %s is not listed under its vendor", got.ID)
			}
			if got, want := b.ProductCounters(marketplace, got.ID, 0, math.MaxUint32), m.CountProduct(marketplace, got.ID); got != want {
				fail("product counts %+v, not %+v", got, want)
			}
		}
		for _, id := range append(unknownIDs(), shard.OtherProduct) {
			if got, want := b.ProductCounters(marketplace, id, 0, math.MaxUint32), m.CountProduct(marketplace, id); got != want {
				fail("product %s counts %+v, not %+v", id, got, want)
			}
		}
		categories += b.CategoryCount(marketplace)
		tree, _ := b.Categories(marketplace, "", math.MaxInt)
		for _, got := range tree {
			if want := m.Categories[Name{Market: marketplace, ID: got.ID}]; !reflect.DeepEqual(got, want) {
				fail("category is %+v, not %+v", got, want)
			}
		}
		if got, want := b.NoCampaignCounters(marketplace, 0, math.MaxUint32), m.Count(ids.UUID{}, marketplace); got != want {
			fail("marketplace %d counts %+v of no campaign, not %+v", marketplace, got, want)
		}
	}
	if products != len(m.Products) || categories != len(m.Categories) {
		fail("%d products and %d categories, not %d and %d", products, categories, len(m.Products), len(m.Categories))
	}
}

func withGroup(c model.Campaign, g ids.Group) model.Campaign {
	c.Group = g
	return c
}

func contains(all []model.Product, id string) bool {
	for i := range all {
		if all[i].ID == id {
			return true
		}
	}
	return false
}

func same(got money.Micros, want *big.Int) bool { return want.IsInt64() && int64(got) == want.Int64() }
