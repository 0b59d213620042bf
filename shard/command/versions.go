package command

import (
	"github.com/cespare/xxhash/v2"

	"github.com/gavel-ads/gavel/shard/model"
)

// Two nodes that change the same resource at the same time must not undo each other's changes, whatever they have read
// before. There are two mechanisms. A change that does not depend on current values names the members that it changes,
// and Apply merges it: PatchBid, PatchProducts and most of a PatchCampaign. A change that was checked against current
// values carries their version, and Apply refuses it as Conflict when the values have another version now.
//
// A version is a hash of the values. It needs no memory in the state, so values that were stored earlier have a version
// too. Values that change and change back have their old version again; a change that was checked against them still
// applies.
//
// Rejected: one version for a whole campaign or product, as records have. Of several writers of different members each
// attempt would let only one succeed, and a follower, which learns of a write later than the leader, could lose for as
// long as the leader is busy.

// Expectation is what a proposer has read of a campaign: a set of members that a PatchCampaign can change, and the
// version of their values. Without members there is no expectation.
type Expectation struct {
	Members Members
	Version uint64
}

var expectations = newTable("expectation",
	fixed("members", u64[Members](), func(e *Expectation) *Members { return &e.Members }),
	fixed("version", u64[uint64](), func(e *Expectation) *uint64 { return &e.Version }),
).checked(func(e *Expectation) bool { return e.Members != 0 && e.Members&^campaignPatches.known == 0 })

// The members of a campaign on which rules about several members depend.
var (
	MembersDates    = campaignPatches.members("start", "end")
	MembersPlan     = campaignPatches.members("period", "pacing", "end")
	MembersStatus   = campaignPatches.members("status")
	MembersDocument = campaignPatches.members("document")
)

// ExpectCampaign returns the expectation that some members have the values that they have in c.
func ExpectCampaign(c *model.Campaign, members Members) Expectation {
	if members == 0 {
		return Expectation{}
	}
	return Expectation{members, campaignPatches.version(c, members)}
}

// VersionOfMarketplace returns the version of a marketplace's settings. It is never 0.
func VersionOfMarketplace(m *model.Marketplace) uint64 {
	return max(1, xxhash.Sum64(AppendMarketplace(nil, m)))
}
