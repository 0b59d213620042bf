package command

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/market"
)

// TestAVersionFollowsItsMembers: a change of a member changes the versions of all sets that contain the member, and no
// others.
func TestAVersionFollowsItsMembers(t *testing.T) {
	for name, x := range map[string]struct {
		changes uint16
		change  func(*market.Campaign)
	}{
		"name":     {patchName, func(c *market.Campaign) { c.Name = "other" }},
		"active":   {patchActive, func(c *market.Campaign) { c.Active = !c.Active }},
		"start":    {patchStart, func(c *market.Campaign) { c.StartMillis++ }},
		"end":      {patchEnd, func(c *market.Campaign) { c.EndMillis++ }},
		"budget":   {patchBudget, func(c *market.Campaign) { c.Budget++ }},
		"status":   {patchStatus, func(c *market.Campaign) { c.Status = market.Pending }},
		"document": {patchDocument, func(c *market.Campaign) { c.Document = []byte("{}") }},
		"caps":     {patchCaps, func(c *market.Campaign) { c.Caps = []market.Cap{{Type: 1, Limit: 2}} }},
		"wallet":   {patchWallet, func(c *market.Campaign) { c.Wallet[0]++ }},
		"updated":  {0, func(c *market.Campaign) { c.UpdatedMillis++ }},
	} {
		after := someCampaign
		x.change(&after)
		for _, members := range []uint16{patchName, patchActive, MembersDates, patchBudget, MembersStatus, MembersDocument, patchCaps, 0xffff} {
			changed := ExpectCampaign(&someCampaign, members) != ExpectCampaign(&after, members)
			if want := members&x.changes != 0; changed != want {
				t.Errorf("%s changed: the version of %016b changed: %t, want %t", name, members, changed, want)
			}
		}
	}
	if ExpectCampaign(&someCampaign, 0) != (Expectation{}) {
		t.Error("no members are an expectation")
	}
}

// TestExpectationsNeedTheirLevel: a command with an Expectation needs LevelVersions.
func TestExpectationsNeedTheirLevel(t *testing.T) {
	for _, x := range commands {
		c, err := Open(x.cmd)
		if err != nil {
			t.Fatal(err)
		}
		carries := c.Op == OpPatchBid || c.Op == OpPatchProducts || c.Op == OpPatchCampaign && c.Version == expectVersion ||
			c.Op == OpPutMarketplace && c.Version == settingsVersion
		if carries != (c.Needs == LevelVersions) {
			t.Errorf("%s needs level %d", x.name, c.Needs)
		}
	}
}
