package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// markVendors changes the marks of vendors, all or nothing.
func (m *Machine) markVendors(p *command.MarkVendors) command.Result {
	for i := range p.Marks {
		x := &p.Marks[i]
		if !isID(x.VendorID) {
			return refused(command.Invalid, i)
		}
		if m.deletionOf(p.Marketplace, x.VendorID) != x.Expect {
			return refused(command.Conflict, i)
		}
	}
	for i := range p.Marks {
		x := &p.Marks[i]
		key := keyCatalog(nil, tableVendorMark, p.Marketplace, x.VendorID)
		if x.Deletion.IsZero() {
			m.put(key, nil)
		} else {
			m.put(key, append([]byte{}, x.Deletion[:]...))
		}
	}
	return command.Result{}
}

// deletionOf is the mark of a vendor, zero where there is none.
func (m *Machine) deletionOf(marketplace uint16, vendorID string) ids.UUID {
	stored, _ := m.get(keyCatalog(nil, tableVendorMark, marketplace, vendorID))
	return deletion(stored)
}

func deletion(stored []byte) (id ids.UUID) {
	copy(id[:], stored)
	return id
}

// breaksBudget reports whether a campaign lacks the budget that its charge type needs: a purchase is charged long
// after the ad was shown, so only a budget without periods bounds what a CPA campaign can cost.
func (m *Machine) breaksBudget(c *model.Campaign) bool {
	return m.state.level >= command.LevelCampaignRules && c.Charge.NeedsTotal() && (c.Budget <= 0 || c.Period != model.Total)
}
