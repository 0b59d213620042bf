package shard_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// An external id leads to the one campaign of its format that has it, whatever changes, terminations and restarts follow.
func TestExternalIDsLeadToTheirCampaigns(t *testing.T) {
	names := []string{"", "a", "b", "c"}
	rapid.Check(t, func(rt *rapid.T) {
		r := open(t, shardtest.NewKV())
		do := func(cmd []byte) command.Refusal { return result(t, r.Do(cmd)).Refusal }
		do(setFeature(command.LevelNewest))
		var has [6]string // The external id of each campaign. Those with an odd number are banners.
		for i := range has {
			c := model.Campaign{
				ID: externalCampaign(i), Marketplace: 1, VendorID: "v", Name: "n", Format: model.AdFormat(i % 2), Active: true, Status: model.Approved,
			}
			expect(t, "create", do(command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c})), command.Done)
		}
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			i, id := rapid.IntRange(0, len(has)-1).Draw(rt, "campaign"), rapid.SampledFrom(names).Draw(rt, "id")
			want := command.Done
			for j := range has {
				if j != i && j%2 == i%2 && id != "" && has[j] == id {
					want = command.AlreadyExists
				}
			}
			p := command.PatchCampaign{Campaign: externalCampaign(i), Marketplace: 1, ExternalID: &id}
			expect(t, fmt.Sprintf("campaign %d becomes %q of %q", i, id, has), do(command.AppendPatchCampaign(nil, benchNow, &p)), want)
			if want == command.Done {
				has[i] = id
			}
			if rapid.IntRange(0, 5).Draw(rt, "restart") == 0 {
				r.Commit()
				r = open(t, r.KV)
			}
		}
		for _, id := range names[1:] {
			for format := range 2 {
				found := -1
				for i := range has {
					if i%2 == format && has[i] == id {
						found = i
					}
				}
				c, ok := r.Queries().CampaignByExternalID(1, model.AdFormat(format), id)
				expect(t, "found "+id, ok, found >= 0)
				if ok {
					expect(t, "campaign of "+id, c.ID, externalCampaign(found))
					expect(t, "its external id", c.ExternalID, id)
				}
			}
		}
	})
}

// externalCampaign is the id of a campaign of vendor v.
func externalCampaign(i int) ids.UUID {
	return ids.UUID{0: byte(i + 1), 15: byte(ids.ShardOf(ids.AccountOf(1, "v")))}
}

// A change of an external id is for groups whose nodes all know it.
func TestExternalIDsAreChangedFromTheirLevelOn(t *testing.T) {
	r := open(t, shardtest.NewKV())
	do := func(cmd []byte) command.Refusal { return result(t, r.Do(cmd)).Refusal }
	do(setFeature(command.LevelAttribution))
	expect(t, "create", do(newCampaign(1, model.CPC, 0, model.Daily)), command.Done)
	expect(t, "too early", do(patchOf(1, command.PatchCampaign{ExternalID: new("a")})), command.TooEarly)
	do(setFeature(command.LevelExternalIDs))
	expect(t, "in time", do(patchOf(1, command.PatchCampaign{ExternalID: new("a")})), command.Done)
	expect(t, "too long", do(patchOf(1, command.PatchCampaign{ExternalID: new(string(make([]byte, 2000)))})), command.AlreadyExists)
}
