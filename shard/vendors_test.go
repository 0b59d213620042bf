package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// newCampaign is a creation of the n-th campaign of vendor v.
func newCampaign(n byte, charge model.ChargeType, budget money.Micros, period model.Period) []byte {
	c := model.Campaign{
		ID: ids.UUID{0: n, 15: byte(ids.ShardOf(ids.AccountOf(1, "v")))}, Marketplace: 1, VendorID: "v", Name: "n",
		Charge: charge, Budget: budget, Period: period, Active: true, Status: model.Approved,
	}
	return command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c})
}

func patchOf(n byte, p command.PatchCampaign) []byte {
	p.Campaign, p.Marketplace = ids.UUID{0: n, 15: byte(ids.ShardOf(ids.AccountOf(1, "v")))}, 1
	return command.AppendPatchCampaign(nil, benchNow, &p)
}

func mark(expect, deletion ids.UUID) []byte {
	return command.AppendMarkVendors(nil, benchNow, &command.MarkVendors{
		Marketplace: 1, Marks: []command.VendorMark{{VendorID: "v", Expect: expect, Deletion: deletion}},
	})
}

// A CPA campaign has a budget for its whole time and keeps it, whoever proposes otherwise.
func TestACPACampaignKeepsItsTotal(t *testing.T) {
	r := open(t, shardtest.NewKV())
	do := func(cmd []byte) command.Refusal { return result(t, r.Do(cmd)).Refusal }
	do(setFeature(command.LevelVersions))
	expect(t, "by the day, on a lower level", do(newCampaign(1, model.CPA, 100, model.Daily)), command.Done)
	do(setFeature(command.LevelCampaignRules))
	expect(t, "by the day", do(newCampaign(2, model.CPA, 100, model.Daily)), command.NeedsTotal)
	expect(t, "without a budget", do(newCampaign(2, model.CPA, 0, model.Total)), command.NeedsTotal)
	expect(t, "in total", do(newCampaign(2, model.CPA, 100, model.Total)), command.Done)
	expect(t, "of clicks, by the day", do(newCampaign(3, model.CPC, 0, model.Daily)), command.Done)

	digest := r.Machine.Digest()
	expect(t, "to the day", do(patchOf(2, command.PatchCampaign{Period: new(model.Daily), Name: new("m")})), command.NeedsTotal)
	expect(t, "to no budget", do(patchOf(2, command.PatchCampaign{Budget: new(money.Micros(0))})), command.NeedsTotal)
	expect(t, "digest after refusals", r.Machine.Digest(), digest)
	expect(t, "to more", do(patchOf(2, command.PatchCampaign{Budget: new(money.Micros(300))})), command.Done)
	expect(t, "of clicks, to the week", do(patchOf(3, command.PatchCampaign{Period: new(model.Weekly)})), command.Done)

	expect(t, "an old one, its name", do(patchOf(1, command.PatchCampaign{Name: new("m")})), command.Done)
	expect(t, "an old one, its amount", do(patchOf(1, command.PatchCampaign{Budget: new(money.Micros(5))})), command.NeedsTotal)
	expect(t, "an old one, to the total", do(patchOf(1, command.PatchCampaign{Period: new(model.Total)})), command.Done)
}

// No campaign of a vendor that is marked as deleted is created or switched on. All else goes on, and so does it after
// a restart.
func TestCampaignsOfADeletedVendorStayOff(t *testing.T) {
	r := open(t, shardtest.NewKV())
	do := func(cmd []byte) command.Refusal { return result(t, r.Do(cmd)).Refusal }
	expect(t, "on a lower level", do(mark(ids.UUID{}, ids.UUID{1})), command.TooEarly)
	do(setFeature(command.LevelCampaignRules))
	expect(t, "create", do(newCampaign(1, model.CPC, 0, model.Daily)), command.Done)
	expect(t, "delete", do(mark(ids.UUID{}, ids.UUID{1})), command.Done)
	for range 2 {
		expect(t, "create another", do(newCampaign(2, model.CPC, 0, model.Daily)), command.VendorDeleted)
		expect(t, "repeat the creation", do(newCampaign(1, model.CPC, 0, model.Daily)), command.Done)
		expect(t, "activate", do(patchOf(1, command.PatchCampaign{Active: new(true)})), command.VendorDeleted)
		expect(t, "pause", do(patchOf(1, command.PatchCampaign{Active: new(false)})), command.Done)
		expect(t, "mark", r.Queries().Deletion(1, "v"), ids.UUID{1})
		r.Commit()
		r = open(t, r.KV)
	}
	expect(t, "lift another mark", do(mark(ids.UUID{9}, ids.UUID{})), command.Conflict)
	expect(t, "delete again", do(mark(ids.UUID{1}, ids.UUID{2})), command.Done)
	expect(t, "lift the first mark", do(mark(ids.UUID{1}, ids.UUID{})), command.Conflict)
	expect(t, "still off", do(patchOf(1, command.PatchCampaign{Active: new(true)})), command.VendorDeleted)
	expect(t, "lift the mark", do(mark(ids.UUID{2}, ids.UUID{})), command.Done)
	expect(t, "activate again", do(patchOf(1, command.PatchCampaign{Active: new(true)})), command.Done)
}
