package command

import "github.com/gavel-ads/gavel/shard/rollup"

// CountAuctions adds the auctions that campaigns have won and lost on one node to the reports. Every node proposes them
// for the campaigns of a group, every ten seconds.
//
// The commands of a start of a node are numbered from 1. A command counts once: one that was applied already changes
// nothing, so a node repeats a command until it knows the outcome, and only then proposes the next. A number that leaves
// one out, and an earlier start of the node, are refused as Conflict. Campaigns that the group does not have are skipped.
type CountAuctions struct {
	Node      uint16 // The node's number, as in resolvedBidIds.
	Start     uint32 // The start of the node's process, as in resolvedBidIds.
	Number    uint64
	Campaigns []CampaignAuctions // At most CountAuctionsMax.
}

// CampaignAuctions are the auctions of one campaign in one hour.
type CampaignAuctions struct {
	Campaign uint32 // Ordinal in the group.
	Cell     uint32 // The start of the local hour, like that of an event.
	Won      uint64 // At most AuctionsMax.
	Lost     []LostAuctions
}

// LostAuctions are the auctions that were lost for one reason.
type LostAuctions struct {
	Reason   uint8  // See rollup.Auctions.
	Auctions uint64 // At most AuctionsMax.
}

// Bounds of a CountAuctions.
const (
	CountAuctionsMax = 1_024   // A command has at most 260 KB, usually 30 KB.
	AuctionsMax      = 1 << 40 // 300 million a second for an hour.
)

var (
	countAuctions = newTable("count auctions",
		fixed("node", u16[uint16](), func(x *CountAuctions) *uint16 { return &x.Node }),
		fixed("start", u32[uint32](), func(x *CountAuctions) *uint32 { return &x.Start }),
		fixed("number", u64[uint64](), func(x *CountAuctions) *uint64 { return &x.Number }),
		fixed("campaigns", list(campaignAuctions, CountAuctionsMax), func(x *CountAuctions) *[]CampaignAuctions { return &x.Campaigns }),
	)
	campaignAuctions = newTable("auctions of a campaign",
		fixed("campaign", u32[uint32](), func(x *CampaignAuctions) *uint32 { return &x.Campaign }),
		fixed("cell", u32[uint32](), func(x *CampaignAuctions) *uint32 { return &x.Cell }),
		fixed("won", size, func(x *CampaignAuctions) *uint64 { return &x.Won }),
		fixed("lost", list(lostAuctions, rollup.LossReasonsMax), func(x *CampaignAuctions) *[]LostAuctions { return &x.Lost }),
	).checked(func(x *CampaignAuctions) bool { return x.Won <= AuctionsMax })
	lostAuctions = newTable("lost auctions",
		fixed("reason", enum[uint8](rollup.LossReasonsMax), func(x *LostAuctions) *uint8 { return &x.Reason }),
		fixed("auctions", size, func(x *LostAuctions) *uint64 { return &x.Auctions }),
	).checked(func(x *LostAuctions) bool { return x.Auctions <= AuctionsMax })
)

// AppendCountAuctions appends a CountAuctions, which needs LevelReports.
func AppendCountAuctions(dst []byte, nowMillis int64, x *CountAuctions) []byte {
	return appendCommand(dst, OpCountAuctions, nowMillis, countAuctions, x)
}

// ReadCountAuctions reads a CountAuctions.
func ReadCountAuctions(c *Command) (CountAuctions, error) { return readCommand(c, countAuctions) }
