package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// purchasePaid is a credited item of the n-th purchase; one of them pays 60 for the token.
func purchasePaid(n byte) []byte {
	return command.AppendApplyCredits(nil, benchNow, &command.ApplyCredits{Credits: []command.Credit{{
		Purchase: command.PurchaseName{OpenedMillis: benchNow, Key: [16]byte{n}}, Group: 1, Marketplace: 1, Campaign: 1, Bid: 1, Kind: event.Click,
		Cell: 4, Product: "p", Quantity: 2, UnitPrice: 500, Price: 60, ChargeKey: [16]byte{9}, Issued: event.BucketOf(benchNow),
	}}})
}

// newPaidByPurchases is a group with a campaign that is paid by purchases, with a total budget of 100, and a wallet with 1,000.
func newPaidByPurchases(t *testing.T) *shardtest.Replica {
	t.Helper()
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	r.Do(command.AppendAdjustWallet(nil, benchNow, &command.AdjustWallet{Request: ids.UUID{1}, Marketplace: 1, VendorID: "v", Amount: 1_000}))
	expect(t, "campaign", result(t, r.Do(newCampaign(1, model.CPA, 100, model.Total))).Refusal, command.Done)
	return r
}

// chargedOnce compares what the campaign has spent, and what the journal charged and gave back.
func chargedOnce(t *testing.T, why string, q shard.Queries, spent int64) {
	t.Helper()
	c, _ := q.CampaignByOrdinal(1)
	expect(t, why+": spent", int64(c.Money.SpentTotal), spent)
	expect(t, why+": in the report", int64(q.CampaignSales(c.ID, 0, 9)[0].SpentPurchases), spent)
	check(t, q.Verify())
}

// A purchase charges once: when its credit is carried out again in the same batch, after a commit, and when the log goes
// on after a restart.
func TestAPurchaseChargesOnceAcrossRestarts(t *testing.T) {
	r := newPaidByPurchases(t)
	r.Apply(purchasePaid(1))
	r.Apply(purchasePaid(1))
	r.Commit()
	chargedOnce(t, "one purchase", r.Queries(), 60)
	for n := range byte(3) {
		r = open(t, r.KV)
		r.Do(purchasePaid(1))
		r.Do(purchasePaid(2 + n)) // Another purchase of the same token.
		chargedOnce(t, "after a restart", r.Queries(), 60)
	}
	c, _ := r.Queries().CampaignByOrdinal(1)
	expect(t, "items", r.Queries().CampaignCounters(c.ID, 0, 9).Attributed.Count, 4)
}

// A reversal names the charge of its token, changes the counters of the product that was sold, and is applied once however
// often its command is repeated. What it gives back may be spent again, and no more: billed overspend stays 0.
func TestAReversalGivesTheBudgetBackOnce(t *testing.T) {
	r := newPaidByPurchases(t)
	r.Do(purchasePaid(1))
	c, _ := r.Queries().CampaignByOrdinal(1)
	charge, found := r.Queries().ChargeOf(event.Purchase, event.BucketOf(benchNow), [16]byte{9})
	expect(t, "the charge is found", found, true)
	expect(t, "product", charge.Product, "p")
	reverse := func(id byte) command.Refusal {
		return result(t, r.Do(command.AppendReverse(nil, benchNow, &command.Reverse{
			ID: ids.UUID{id}, Marketplace: 1, Campaign: c.ID, Line: charge.Seq, Charged: charge.Amount, Wallet: charge.Wallet,
			Parts:  []command.ReversalPart{{Cell: charge.Cell, Bid: charge.Bid, Kind: event.Purchase, Product: charge.Product, Amount: 40}},
			Reason: command.ReasonProductReturn, Author: "key:1", Note: "returned",
		}))).Refusal
	}
	expect(t, "reverse", reverse(1), command.Done)
	chargedOnce(t, "reversed", r.Queries(), 20)
	for range 2 {
		r = open(t, r.KV)
		expect(t, "repeat", reverse(1), command.Done)
		expect(t, "more than is left", reverse(2), command.ExceedsCharge)
		chargedOnce(t, "after a restart", r.Queries(), 20)
	}
	stored, _ := r.Queries().Reversal(ids.UUID{1})
	expect(t, "author, reason and note", []any{stored.Author, stored.Reason, stored.Note}, []any{"key:1", command.ReasonProductReturn, "returned"})
	left, _ := c.Money.Left()
	expect(t, "left before", int64(left), 40)
	c, _ = r.Queries().CampaignByOrdinal(1)
	left, _ = c.Money.Left()
	expect(t, "left", int64(left), 80)
}

// The parts of a reversal take no more from the counters of a product than they have, also when each is of another bid and would be
// covered by itself: a proposer that has read the counters before another reversal names such parts.
func TestPartsOfSeveralBidsShareAProduct(t *testing.T) {
	r := newPaidByPurchases(t)
	for bid, product := range map[uint32]string{1: "a", 2: "p"} { // In any order.
		r.Do(command.AppendApplyCredits(nil, benchNow, &command.ApplyCredits{Credits: []command.Credit{{
			Purchase: command.PurchaseName{OpenedMillis: benchNow, Key: [16]byte{byte(bid)}}, Group: 1, Marketplace: 1, Campaign: 1, Bid: bid,
			Kind: event.Click, Cell: 4, Product: product, Quantity: 1, UnitPrice: 500, Price: 40, ChargeKey: [16]byte{byte(bid)}, Issued: event.BucketOf(benchNow),
		}}}))
	}
	c, _ := r.Queries().CampaignByOrdinal(1)
	reverse := func(ofFirstBid string) command.Refusal {
		part := command.ReversalPart{Cell: 4, Bid: 1, Kind: event.Purchase, Product: ofFirstBid, Amount: 40}
		other := part
		other.Bid, other.Product = 2, "p"
		return result(t, r.Do(command.AppendReverse(nil, benchNow, &command.Reverse{
			ID: ids.UUID{1}, Marketplace: 1, Campaign: c.ID, Author: "key:1", Parts: []command.ReversalPart{part, other},
		}))).Refusal
	}
	expect(t, "twice what the product was charged", reverse("p"), command.Conflict)
	check(t, r.Queries().Verify())
	expect(t, "what both products were charged", reverse("a"), command.Done)
	check(t, r.Queries().Verify())
}
