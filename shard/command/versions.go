package command

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/gavel-ads/gavel/shard/market"
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

// Expectation is what a proposer has read of a campaign: a mask of members, with the bits of a PatchCampaign, and the
// version of their values. Without members there is no expectation.
type Expectation struct {
	Members uint16
	Version uint64
}

// These masks name the members of a campaign on which rules about several members depend.
const (
	MembersDates    = patchStart | patchEnd
	MembersStatus   = patchStatus
	MembersDocument = patchDocument
)

// ExpectCampaign returns the expectation that the members of a mask have the values that they have in c.
func ExpectCampaign(c *market.Campaign, members uint16) Expectation {
	if members == 0 {
		return Expectation{}
	}
	all := PatchCampaign{
		Name: &c.Name, Active: &c.Active, StartMillis: &c.StartMillis, EndMillis: &c.EndMillis, Budget: &c.Budget, Period: &c.Period,
		TargetROASMilli: &c.TargetROASMilli, Status: &c.Status, StatusUpdatedBy: &c.StatusUpdatedBy, Price: &c.Price,
		Document: c.Document, Products: &c.Products, Segments: &c.Segments, Schedule: &c.Schedule, Caps: &c.Caps, Wallet: &c.Wallet,
	}
	return Expectation{members, xxhash.Sum64(appendPatch(nil, &all, members))}
}

// VersionOfMarketplace returns the version of a marketplace's settings. It is never 0.
func VersionOfMarketplace(m *market.Marketplace) uint64 {
	return max(1, xxhash.Sum64(AppendMarketplace(nil, m)))
}

// settingsVersion is the encoding version of a PutMarketplace that carries the version of the settings that it
// replaces.
const settingsVersion = 3

// PutMarketplace replaces the settings of a marketplace.
type PutMarketplace struct {
	Marketplace market.Marketplace
	// Expect is the version of the settings that the proposer has read; 0 replaces the settings regardless of their
	// version.
	Expect uint64
}

// AppendReplaceMarketplace appends a PutMarketplace that is refused as Conflict when the settings have changed since
// the proposer read them.
// REQUIRES: p.Expect is not 0.
func AppendReplaceMarketplace(dst []byte, nowMillis int64, p *PutMarketplace) []byte {
	dst, at := begin(dst, OpPutMarketplace, nowMillis, 0)
	dst[at] = settingsVersion
	dst = binary.LittleEndian.AppendUint64(dst, p.Expect)
	return seal(AppendMarketplace(dst, &p.Marketplace), at)
}
