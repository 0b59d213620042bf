package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/market"
)

// Later members are the members that were added to values after their layouts were frozen. A value without later
// members has its original encoding. A value with some has a flag in its state byte (active, or suspended for a
// marketplace) and ends with a mask of these members and the members themselves. So old encodings remain readable, and
// a binary that does not know a member rejects the value instead of dropping the member. Masks are append only. A
// command with such a value has version 2 and needs LevelAds; the values of a command of version 1 have no later
// members.

// stateMore is the flag of a state byte whose value has later members. The lowest bit says whether the value is active.
const stateMore = 2

func appendState(dst []byte, active, more bool) []byte {
	state := byte(0)
	if active {
		state = 1
	}
	if more {
		state |= stateMore
	}
	return append(dst, state)
}

func (d *Decoder) state() (active, more bool) {
	limit := uint8(2 * stateMore)
	if d.baseMembersOnly {
		limit = stateMore
	}
	state := d.Enum(limit)
	return state&1 != 0, state&stateMore != 0
}

// mask reads a mask of members. It fails when the mask is empty or contains an unknown member.
func (d *Decoder) mask(end uint16) uint16 {
	mask := d.U16()
	if mask == 0 || mask >= end {
		d.Fail()
	}
	return mask
}

// maskOf returns a mask in which bit i is set if present[i] is true.
func maskOf(present ...bool) (mask uint16) {
	for i, is := range present {
		if is {
			mask |= 1 << i
		}
	}
	return mask
}

const (
	marketplaceH3 = 1 << iota
	marketplaceVendorMax
	marketplaceReserves
	marketplaceMembers
)

func marketplaceMore(m *market.Marketplace) uint16 {
	return maskOf(m.H3, m.VendorMax != 0, len(m.Reserves) > 0)
}

func appendMarketplaceMore(dst []byte, m *market.Marketplace) []byte {
	mask := marketplaceMore(m)
	if mask == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint16(dst, mask)
	if mask&marketplaceVendorMax != 0 {
		dst = append(dst, m.VendorMax)
	}
	if mask&marketplaceReserves != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(m.Reserves)))
		for i := range m.Reserves {
			dst = appendReserve(dst, &m.Reserves[i])
		}
	}
	return dst
}

func (d *Decoder) marketplaceMore(m *market.Marketplace) {
	mask := d.mask(marketplaceMembers)
	m.H3 = mask&marketplaceH3 != 0
	if mask&marketplaceVendorMax != 0 {
		m.VendorMax = d.U8()
	}
	if mask&marketplaceReserves != 0 {
		for range d.Count(reserveMinLen) {
			m.Reserves = append(m.Reserves, d.reserve())
		}
		if len(m.Reserves) > market.ReserveRulesMax {
			d.Fail()
		}
	}
}

const reserveMinLen = 13

func appendReserve(dst []byte, r *market.ReserveRule) []byte {
	dst = append(dst, byte(r.Charge))
	dst = AppendMoney(dst, r.Amount)
	dst = AppendBool(dst, r.AnyFormat)
	dst = append(dst, byte(r.Format))
	dst = AppendText(dst, r.Place)
	return AppendText(dst, r.Category)
}

func (d *Decoder) reserve() market.ReserveRule {
	return market.ReserveRule{
		Charge: market.ChargeType(d.Enum(market.ChargeTypes)), Amount: d.Price(), AnyFormat: d.Bool(),
		Format: market.AdFormat(d.Enum(uint8(market.SponsoredBrand) + 1)), Place: d.Text(), Category: d.Text(),
	}
}

const (
	productBrand = 1 << iota
	productMembers
)

func productMore(p *market.Product) uint16 { return maskOf(p.Brand != "") }

func appendProductMore(dst []byte, p *market.Product) []byte {
	if mask := productMore(p); mask != 0 {
		return AppendText(binary.LittleEndian.AppendUint16(dst, mask), p.Brand)
	}
	return dst
}

func (d *Decoder) productMore(p *market.Product) {
	if d.mask(productMembers)&productBrand != 0 {
		p.Brand = d.Text()
	}
}
