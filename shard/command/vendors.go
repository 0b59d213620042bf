package command

import (
	"github.com/gavel-ads/gavel/shard/ids"
)

// Vendors are records of the meta group, and their campaigns lie in data groups, which cannot read them. So the group
// of a vendor is told when the catalog loses the vendor: the mark of a deletion lies beside the vendor's campaigns,
// and keeps them from being created and switched on. Deletion and creation of one vendor at the same moment, on two
// nodes, leave the mark that the catalog calls for, because each writer reads the mark, then the catalog, and writes
// the mark only if it is still the one that it has read.
//
// Rejected: a flag in each campaign, which campaigns created afterwards would lack; and reading the meta group in
// Apply, where replicas of a data group differ. A vendor that was deleted below LevelCampaignRules has no mark: only
// the management API refuses to activate its campaigns.

// VendorMark changes the mark of a vendor.
type VendorMark struct {
	VendorID string
	Expect   ids.UUID // The deletion that the proposer has read; zero: none.
	Deletion ids.UUID // A new id, different for each; zero: the catalog has the vendor.
}

// MarkVendors changes the marks of vendors of one group, all or nothing. Conflict names the first whose mark is not
// the expected one.
type MarkVendors struct {
	Marketplace uint16
	Marks       []VendorMark
}

var (
	markVendors = newTable("mark vendors",
		fixed("marketplace", u16[uint16](), func(p *MarkVendors) *uint16 { return &p.Marketplace }),
		fixed("marks", list(vendorMarks, unbounded), func(p *MarkVendors) *[]VendorMark { return &p.Marks }),
	)
	vendorMarks = newTable("vendor mark",
		fixed("vendor", text, func(m *VendorMark) *string { return &m.VendorID }),
		fixed("expect", uuid, func(m *VendorMark) *ids.UUID { return &m.Expect }),
		fixed("deletion", uuid, func(m *VendorMark) *ids.UUID { return &m.Deletion }),
	)
)

// AppendMarkVendors appends a MarkVendors.
func AppendMarkVendors(dst []byte, nowMillis int64, p *MarkVendors) []byte {
	return appendCommand(dst, OpMarkVendors, nowMillis, markVendors, p)
}

// ReadMarkVendors reads a MarkVendors.
func ReadMarkVendors(c *Command) (MarkVendors, error) { return readCommand(c, markVendors) }
