package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/document"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// Two writers read the same campaign and change members that a rule connects. The second change is refused and changes
// nothing. After reading the current values again, it is applied.
func TestAChangeBuiltOnOldValuesIsRefused(t *testing.T) {
	m := newManaged(t)
	read := func() *model.Campaign { c, _ := m.Queries().Campaign(m.campaign.ID); return &c.Campaign }
	patch := func(seen *model.Campaign, p command.PatchCampaign) command.Refusal {
		p.Campaign, p.Marketplace, p.Expect = m.campaign.ID, 1, command.ExpectCampaign(seen, command.MembersDates)
		return result(t, m.Do(command.AppendPatchCampaign(nil, benchNow, &p))).Refusal
	}
	seen := read()
	expect(t, "the first", patch(seen, command.PatchCampaign{StartMillis: new(int64(benchNow + 5))}), command.Done)
	digest := m.Machine.Digest()
	expect(t, "the second", patch(seen, command.PatchCampaign{EndMillis: new(int64(benchNow + 3))}), command.Conflict)
	expect(t, "digest after a conflict", m.Machine.Digest(), digest)
	expect(t, "built on other members", result(t, m.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
		Campaign: m.campaign.ID, Marketplace: 1, Expect: command.ExpectCampaign(seen, command.MembersStatus), Name: new("other"),
	}))).Refusal, command.Done)
	expect(t, "again", patch(read(), command.PatchCampaign{EndMillis: new(int64(benchNow + 9))}), command.Done)
	now := read()
	expect(t, "dates", [2]int64{now.StartMillis, now.EndMillis}, [2]int64{benchNow + 5, benchNow + 9})
	expect(t, "name", now.Name, "other")
}

// A charge changes a campaign too, and does not make a concurrent change of members a conflict.
func TestAChargeIsNoConflict(t *testing.T) {
	m := newManaged(t)
	seen, _ := m.Queries().Campaign(m.campaign.ID)
	m.Do(deposit(1, "v", 100))
	r := click(1, 1)
	r.Campaign, r.Price = 1, 60
	m.Do(command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: []command.EventRecord{r}}))
	now, _ := m.Queries().Campaign(m.campaign.ID)
	expect(t, "spent", now.Money.Spent, micros(60))
	expect(t, "a change", result(t, m.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
		Campaign: m.campaign.ID, Marketplace: 1, Active: new(false), Expect: command.ExpectCampaign(&seen.Campaign, command.MembersDates|command.MembersStatus|command.MembersDocument),
	}))).Refusal, command.Done)
}

// Two writers read a bid and a product and write different members: both changes take effect.
func TestChangesOfMembersAreMerged(t *testing.T) {
	m := newManaged(t)
	id := ids.UUID{7}
	m.Do(command.AppendPutBids(nil, benchNow, &command.PutBids{
		Campaign: m.campaign.ID, Marketplace: 1, Bids: []model.Bid{{ID: id, Target: "p", Amount: 5, Active: true}},
	}))
	bid := func(p command.PatchBid) command.Refusal {
		p.Campaign, p.Marketplace, p.Bid = m.campaign.ID, 1, id
		return result(t, m.Do(command.AppendPatchBid(nil, benchNow, &p))).Refusal
	}
	expect(t, "pause", bid(command.PatchBid{Active: new(false)}), command.Done)
	expect(t, "amount", bid(command.PatchBid{Amount: new(micros(9))}), command.Done)
	_, b, _ := m.Queries().Bid(id)
	if b.Active || b.Amount != 9 || b.Target != "p" || b.UpdatedMillis != benchNow {
		t.Errorf("the bid is %+v", b)
	}
	expect(t, "delete", bid(command.PatchBid{Delete: true}), command.Done)
	expect(t, "a change of a deleted bid", bid(command.PatchBid{Active: new(true)}), command.NotFound)

	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	r.Do(command.AppendPutProducts(nil, benchNow, &command.PutProducts{Marketplace: 1, Products: []model.Product{
		{ID: "p", Name: "n", Vendors: []string{"v"}, Document: []byte(`{"name":"n","ean":"1"}`)}, {ID: "broken", Document: []byte(`{`)},
	}}))
	product := func(all ...command.ProductPatch) command.Result {
		return result(t, r.Do(command.AppendPatchProducts(nil, benchNow, &command.PatchProducts{Marketplace: 1, Products: all})))
	}
	name := command.ProductPatch{ID: "p", Name: new("m"), Document: []document.Member{{Name: "name", Value: []byte(`"m"`)}}}
	price := command.ProductPatch{ID: "p", Price: new(micros(3)), Document: []document.Member{{Name: "price", Value: []byte(`3`)}}}
	expect(t, "name", product(name), command.Result{})
	expect(t, "price", product(price, command.ProductPatch{ID: "p", Vendors: &[]string{"w"}}), command.Result{})
	digest := r.Machine.Digest()
	expect(t, "one that is not there", product(name, command.ProductPatch{ID: "q"}), command.Result{Refusal: command.NotFound, Index: 1})
	expect(t, "one that cannot be read", product(name, command.ProductPatch{ID: "broken"}), command.Result{Refusal: command.Invalid, Index: 1})
	expect(t, "digest after refusals", r.Machine.Digest(), digest)
	x, _ := r.Queries().Product(1, "p")
	if x.Name != "m" || x.Price != 3 || string(x.Document) != `{"name":"m","ean":"1","price":3}` || x.Vendors[0] != "w" {
		t.Errorf("the product is %+v, %s", x, x.Document)
	}
	for vendor, want := range map[string]int{"v": 0, "w": 1} {
		of, _ := r.Queries().ProductsOf(1, vendor, "", 10)
		expect(t, "products of "+vendor, len(of), want)
	}
	expect(t, "after a restart", open(t, r.KV).Machine.Digest(), r.Machine.Digest())
}

// Settings are replaced as a whole, so their common version is compared.
func TestSettingsBuiltOnOldOnesAreRefused(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	first := model.Marketplace{Ordinal: 1, Name: "first", CurrencyCode: "EUR"}
	replace := func(seen model.Marketplace, name string) command.Refusal {
		p := command.PutMarketplace{Marketplace: first, Expect: command.VersionOfMarketplace(&seen)}
		p.Marketplace.Name = name
		return result(t, r.Do(command.AppendReplaceMarketplace(nil, benchNow, &p))).Refusal
	}
	expect(t, "of none", replace(first, "second"), command.NotFound)
	r.Do(command.AppendPutMarketplace(nil, benchNow, &first))
	expect(t, "one writer", replace(first, "second"), command.Done)
	expect(t, "the other writer", replace(first, "third"), command.Conflict)
	got, _ := r.Queries().Marketplace(1)
	expect(t, "name", got.Name, "second")
}

// What is left of a budget is shown before the settings that say how large it is. Package pacer relies on it: it would take
// what is left of a larger budget for a carry-over.
func TestAnEditShowsWhatIsLeftFirst(t *testing.T) {
	m := newManaged(t)
	for _, budget := range []int64{250, 40} {
		expect(t, "a change", result(t, m.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
			Campaign: m.campaign.ID, Marketplace: 1, Budget: new(micros(budget)),
		}))).Refusal, command.Done)
		expect(t, "left when the settings came", m.Feed.LeftAtPut[m.campaign.ID], int64(micros(budget)))
	}
}
