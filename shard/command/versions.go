package command

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/gavel-ads/gavel/shard/market"
)

// Two nodes that change the same resource at the same moment must not undo one another, whatever they have read. There are two
// means. A change that depends on nothing but itself names the members that it changes, and Apply merges it: PatchBid,
// PatchProducts and most of a PatchCampaign. A change that is built on values that were read carries their version, and Apply
// refuses it as Conflict when they have another one.
//
// A version is a hash of the values. It needs no place in the state, so what was stored before has one too. Values that change
// and change back have their old version again, which is right: the change that was built on them still applies.

// Expectation is what a proposer has seen of a campaign: some of its members, as a mask in the bits of a PatchCampaign, and the
// version of their values. No members is no expectation.
type Expectation struct {
	Members uint16
	Version uint64
}

// Members of a campaign that rules about more than one member depend on.
const (
	MembersDates    = patchStart | patchEnd
	MembersStatus   = patchStatus
	MembersDocument = patchDocument
)

// ExpectCampaign returns the expectation that members of a campaign are what they are in c.
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

// VersionOfMarketplace returns the version of settings. It is never 0.
func VersionOfMarketplace(m *market.Marketplace) uint64 {
	return max(1, xxhash.Sum64(AppendMarketplace(nil, m)))
}

// settingsVersion is the version of a PutMarketplace that carries the version of the settings that it replaces.
const settingsVersion = 3

// PutMarketplace replaces the settings of a marketplace.
type PutMarketplace struct {
	Marketplace market.Marketplace
	// Expect is the version of the settings that the proposer has read; 0 replaces whatever is there.
	Expect uint64
}

// AppendReplaceMarketplace appends a PutMarketplace that replaces only the settings that the proposer has read.
// REQUIRES: p.Expect is not 0.
func AppendReplaceMarketplace(dst []byte, nowMillis int64, p *PutMarketplace) []byte {
	dst, at := begin(dst, OpPutMarketplace, nowMillis, 0)
	dst[at] = settingsVersion
	dst = binary.LittleEndian.AppendUint64(dst, p.Expect)
	return seal(AppendMarketplace(dst, &p.Marketplace), at)
}
