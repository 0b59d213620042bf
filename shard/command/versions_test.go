package command

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/model"
)

// TestAVersionFollowsItsMembers: a change of a member changes the versions of all sets that contain the member, and no
// others.
func TestAVersionFollowsItsMembers(t *testing.T) {
	of := func(name string) Members { return campaignPatches.members(name) }
	for name, x := range map[string]struct {
		changes Members
		change  func(*model.Campaign)
	}{
		"name":     {of("name"), func(c *model.Campaign) { c.Name = "other" }},
		"active":   {of("active"), func(c *model.Campaign) { c.Active = !c.Active }},
		"start":    {of("start"), func(c *model.Campaign) { c.StartMillis++ }},
		"end":      {of("end"), func(c *model.Campaign) { c.EndMillis++ }},
		"budget":   {of("budget"), func(c *model.Campaign) { c.Budget++ }},
		"status":   {of("status"), func(c *model.Campaign) { c.Status = model.Pending }},
		"document": {of("document"), func(c *model.Campaign) { c.Document = []byte("{}") }},
		"caps":     {of("caps"), func(c *model.Campaign) { c.Caps = []model.Cap{{Type: 1, Limit: 2}} }},
		"wallet":   {of("wallet"), func(c *model.Campaign) { c.Wallet[0]++ }},
		"updated":  {0, func(c *model.Campaign) { c.UpdatedMillis++ }},
	} {
		after := someCampaign
		x.change(&after)
		for _, members := range []Members{of("name"), of("active"), MembersDates, of("budget"), MembersStatus, MembersDocument, of("caps"), campaignPatches.known} {
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
