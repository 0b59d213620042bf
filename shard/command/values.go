package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// The functions of this file encode the values that commands carry and that the state stores. Their layouts are frozen:
// a new member goes to the end of a new version.

// Shortest encodings, for Decoder.Count.
const (
	productMinLen  = 36
	categoryMinLen = 20
	triggerMinLen  = 2
	bidMinLen      = 49
	tokenKeyLen    = 17
	recordMinLen   = 20
)

// AppendMarketplace appends m.
func AppendMarketplace(dst []byte, m *market.Marketplace) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, m.Ordinal)
	dst = append(dst, m.ID[:]...)
	dst = AppendText(dst, m.Name)
	dst = append(dst, marketplaceFlags(m))
	dst = AppendText(dst, m.CurrencyCode)
	dst = append(dst, m.CurrencyExponent)
	dst = AppendText(dst, m.TimeZone)
	for _, reserve := range m.Reserve {
		dst = AppendMoney(dst, reserve)
	}
	dst = AppendBool(dst, m.PostPaid)
	dst = AppendBool(dst, m.ExternalDemand.Disabled)
	dst = appendTexts(dst, m.ExternalDemand.Sources)
	dst = AppendText(dst, m.ExternalDemand.OwnValue)
	dst = AppendMillis(dst, m.CreatedMillis)
	dst = AppendMillis(dst, m.UpdatedMillis)
	return appendMarketplaceMore(dst, m)
}

// Marketplace reads what AppendMarketplace wrote.
func (d *Decoder) Marketplace() (m market.Marketplace) {
	m.Ordinal = d.U16()
	m.ID = d.UUID()
	m.Name = d.Text()
	limit := byte(2 * flagMore)
	if d.baseMembersOnly {
		limit = flagMore
	}
	flags := d.Enum(limit)
	m.Suspended = flags&flagSuspended != 0
	m.ApproveAssets = flags&flagApproveAssets != 0
	m.ReviewCampaigns = flags&flagReviewCampaigns != 0
	m.CurrencyCode = d.Text()
	m.CurrencyExponent = d.U8()
	m.TimeZone = d.Text()
	for i := range m.Reserve {
		m.Reserve[i] = d.Price()
	}
	m.PostPaid = d.Bool()
	m.ExternalDemand.Disabled = d.Bool()
	m.ExternalDemand.Sources = d.Texts()
	m.ExternalDemand.OwnValue = d.Text()
	m.CreatedMillis = d.I64()
	m.UpdatedMillis = d.I64()
	if flags&flagMore != 0 {
		d.marketplaceMore(&m)
	}
	return m
}

// The boolean settings of a marketplace share a byte. It was 0 or 1 while there was only one of them, so old encodings
// remain readable, and a new setting does not change the layout. Append only.
const (
	flagSuspended = 1 << iota
	flagApproveAssets
	flagReviewCampaigns
	flagMore // Later members (later_members.go) follow at the end.
)

func marketplaceFlags(m *market.Marketplace) (flags byte) {
	if m.Suspended {
		flags |= flagSuspended
	}
	if m.ApproveAssets {
		flags |= flagApproveAssets
	}
	if m.ReviewCampaigns {
		flags |= flagReviewCampaigns
	}
	if marketplaceMore(m) != 0 {
		flags |= flagMore
	}
	return flags
}

// AppendVendor appends v: the value of a RecordVendor.
func AppendVendor(dst []byte, v *market.Vendor) []byte {
	dst = AppendText(dst, v.ID)
	dst = AppendText(dst, v.Name)
	dst = AppendBytes(dst, v.Document)
	dst = AppendMillis(dst, v.CreatedMillis)
	return AppendMillis(dst, v.UpdatedMillis)
}

// Vendor reads what AppendVendor wrote.
func (d *Decoder) Vendor() market.Vendor {
	return market.Vendor{ID: d.Text(), Name: d.Text(), Document: d.Copy(), CreatedMillis: d.I64(), UpdatedMillis: d.I64()}
}

// AppendCategory appends c.
func AppendCategory(dst []byte, c *market.Category) []byte {
	dst = AppendText(dst, c.ID)
	dst = AppendText(dst, c.ParentID)
	dst = AppendText(dst, c.Name)
	dst = AppendBytes(dst, c.Document)
	dst = AppendMillis(dst, c.CreatedMillis)
	return AppendMillis(dst, c.UpdatedMillis)
}

// Category reads what AppendCategory wrote.
func (d *Decoder) Category() market.Category {
	return market.Category{
		ID: d.Text(), ParentID: d.Text(), Name: d.Text(), Document: d.Copy(),
		CreatedMillis: d.I64(), UpdatedMillis: d.I64(),
	}
}

// AppendProduct appends p.
func AppendProduct(dst []byte, p *market.Product) []byte {
	dst = AppendText(dst, p.ID)
	dst = AppendText(dst, p.Name)
	dst = appendTexts(dst, p.Vendors)
	dst = appendTexts(dst, p.Categories)
	dst = appendState(dst, p.Active, productMore(p) != 0)
	dst = binary.LittleEndian.AppendUint32(dst, p.Quality)
	dst = AppendMoney(dst, p.Price)
	dst = appendTexts(dst, p.Attributes)
	dst = appendTexts(dst, p.Promotions)
	dst = AppendBytes(dst, p.Document)
	dst = AppendMillis(dst, p.CreatedMillis)
	dst = AppendMillis(dst, p.UpdatedMillis)
	return appendProductMore(dst, p)
}

// Product reads what AppendProduct wrote.
func (d *Decoder) Product() (p market.Product) {
	p.ID, p.Name, p.Vendors, p.Categories = d.Text(), d.Text(), d.Texts(), d.Texts()
	active, more := d.state()
	p.Active = active
	p.Quality = d.U32()
	p.Price = d.Price()
	p.Attributes, p.Promotions, p.Document = d.Texts(), d.Texts(), d.Copy()
	p.CreatedMillis = d.I64()
	p.UpdatedMillis = d.I64()
	if more {
		d.productMore(&p)
	}
	return p
}

// AppendCampaign appends c.
func AppendCampaign(dst []byte, c *market.Campaign) []byte {
	dst = append(dst, c.ID[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, c.Ordinal)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(c.Group))
	dst = binary.LittleEndian.AppendUint16(dst, c.Marketplace)
	dst = AppendText(dst, c.VendorID)
	dst = append(dst, c.Wallet[:]...)
	dst = AppendText(dst, c.Name)
	dst = AppendText(dst, c.Type)
	dst = append(dst, byte(c.Format), byte(c.Charge), byte(c.Price))
	dst = AppendMoney(dst, c.Budget)
	dst = append(dst, byte(c.Period))
	dst = AppendMillis(dst, c.StartMillis)
	dst = AppendMillis(dst, c.EndMillis)
	dst = appendState(dst, c.Active, campaignMore(c) != 0)
	dst = AppendBool(dst, c.AutoTrigger)
	dst = append(dst, byte(c.Status))
	dst = AppendText(dst, c.StatusUpdatedBy)
	dst = AppendText(dst, c.ExternalID)
	dst = binary.LittleEndian.AppendUint32(dst, c.TargetROASMilli)
	dst = AppendMillis(dst, c.CreatedMillis)
	dst = AppendMillis(dst, c.UpdatedMillis)
	dst = AppendBytes(dst, c.Document)
	return appendCampaignMore(dst, c)
}

// Campaign reads what AppendCampaign wrote.
func (d *Decoder) Campaign() (c market.Campaign) {
	c.ID = d.UUID()
	c.Ordinal = d.U32()
	c.Group = ids.Group(d.U16())
	c.Marketplace = d.U16()
	c.VendorID = d.Text()
	c.Wallet = d.UUID()
	c.Name = d.Text()
	c.Type = d.Text()
	c.Format = market.AdFormat(d.Enum(uint8(market.SponsoredBrand) + 1))
	c.Charge = market.ChargeType(d.Enum(market.ChargeTypes))
	c.Price = market.PriceRule(d.Enum(uint8(market.FirstPrice) + 1))
	c.Budget = d.Price()
	c.Period = market.Period(d.Enum(uint8(market.Total) + 1))
	c.StartMillis = d.I64()
	c.EndMillis = d.I64()
	active, more := d.state()
	c.Active = active
	c.AutoTrigger = d.Bool()
	c.Status = market.Status(d.Enum(uint8(market.Terminated) + 1))
	c.StatusUpdatedBy = d.Text()
	c.ExternalID = d.Text()
	c.TargetROASMilli = d.U32()
	c.CreatedMillis = d.I64()
	c.UpdatedMillis = d.I64()
	c.Document = d.Copy()
	if more {
		d.campaignMore(&c)
	}
	return c
}

// AppendBid appends b.
func AppendBid(dst []byte, b *market.Bid) []byte {
	dst = append(dst, b.ID[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, b.Ordinal)
	dst = AppendText(dst, b.Target)
	dst = AppendMoney(dst, b.Amount)
	dst = appendState(dst, b.Active, bidMore(b) != 0)
	dst = AppendBool(dst, b.Deleted)
	dst = AppendText(dst, b.Location)
	dst = appendTriggers(dst, b.Triggers)
	dst = AppendMillis(dst, b.CreatedMillis)
	dst = AppendMillis(dst, b.UpdatedMillis)
	return appendBidMore(dst, b)
}

// Bid reads what AppendBid wrote.
func (d *Decoder) Bid() (b market.Bid) {
	b.ID = d.UUID()
	b.Ordinal = d.U32()
	b.Target = d.Text()
	b.Amount = d.Price()
	active, more := d.state()
	b.Active = active
	b.Deleted = d.Bool()
	b.Location = d.Text()
	kinds := uint8(market.TriggerKinds)
	if d.baseMembersOnly {
		kinds = uint8(market.TriggerCategories) + 1
	}
	b.Triggers = d.triggers(kinds)
	b.CreatedMillis = d.I64()
	b.UpdatedMillis = d.I64()
	if more {
		d.bidMore(&b)
	}
	return b
}

func appendTriggers(dst []byte, all []market.Trigger) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for _, t := range all {
		dst = append(dst, byte(t.Kind))
		dst = AppendText(dst, t.Value)
		if t.Kind.IsKeyword() {
			dst = appendTexts(dst, t.Words)
		}
	}
	return dst
}

// triggers reads what appendTriggers wrote, with kinds below the given limit; nil for none.
func (d *Decoder) triggers(kinds uint8) (all []market.Trigger) {
	if n := d.Count(triggerMinLen); n > 0 {
		all = make([]market.Trigger, n)
		for i := range all {
			t := &all[i]
			t.Kind = market.TriggerKind(d.Enum(kinds))
			t.Value = d.Text()
			if t.Kind.IsKeyword() {
				t.Words = d.Texts()
			}
		}
	}
	return all
}

// AppendSecrets appends s.
func AppendSecrets(dst []byte, s *Secrets) []byte {
	dst = append(dst, s.Duplicate[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(s.Token)))
	for i := range s.Token {
		dst = append(dst, s.Token[i].ID)
		dst = append(dst, s.Token[i].Key[:]...)
	}
	return append(dst, s.Cursor[:]...)
}

// Secrets reads what AppendSecrets wrote.
func (d *Decoder) Secrets() (s Secrets) {
	s.Duplicate = d.Key32()
	for range d.Count(tokenKeyLen) {
		s.Token = append(s.Token, TokenKey{ID: d.U8(), Key: d.Sixteen()})
	}
	s.Cursor = d.Key32()
	return s
}
