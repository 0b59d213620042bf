package market

import (
	"encoding/binary"
	"slices"
)

// Text is a text of a view, and whether a JSON string may hold it as it is.
type Text struct {
	Bytes []byte
	Clean bool
}

func textOf(s string) Text { return Text{[]byte(s), clean(s)} }

// Ad is the creative of a banner or sponsored-brand bid as auctions read it. It never changes; a changed bid has another.
type Ad struct {
	Target  TargetType
	ID      Text   // Of the target.
	Product uint32 // Row of a product target; NoProduct otherwise.
	Entity  uint32 // The same for all bids of a campaign on the same target: it wins once.
	Device  Device
	Assets  []AdAsset
	Title   Text   // Empty when not set.
	Content []byte // Raw JSON object, empty for none.
	// Products are rows of the creative's own products; empty: the campaign's.
	Products []uint32
}

// NoProduct is the row of no product.
const NoProduct = ^uint32(0)

// AdAsset is one asset of a banner.
type AdAsset struct {
	URL        Text // Empty: the record's.
	Content    []byte
	Dimensions Dimensions
	record     uint32 // 0: approved with its campaign.
}

// ads are the creatives by the number that a bid row has. Numbers of deleted bids are used again.
type ads struct {
	rows[*Ad]
	free     []uint32
	entities map[string]uint32
}

func (a *ads) init() {
	a.add() // Row 0 is no ad.
	a.entities = map[string]uint32{}
}

// assets are the asset records that bids name, by row.
type assets struct {
	rows[assetRow]
	byKey map[string]uint32
}

type assetRow struct {
	url      Text
	approved bool
}

func (a *assets) init() {
	a.add() // Row 0 is no record.
	a.byKey = map[string]uint32{}
}

// PutAsset adds or replaces what a record says of an asset. Bids that name an asset without a record do not show it.
func (m *Market) PutAsset(marketplace uint16, a *Asset) {
	m.mu.Lock()
	defer m.mu.Unlock()

	*m.assets.edit(m.asset(marketplace, a.ID), m.edition) = assetRow{textOf(a.URL), a.Approved}
	m.dirty = true
}

// DeleteAsset removes an asset.
func (m *Market) DeleteAsset(marketplace uint16, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()

	*m.assets.edit(m.asset(marketplace, id), m.edition) = assetRow{}
	m.dirty = true
}

// asset returns the row of an asset, adding one on its first mention.
func (m *Market) asset(marketplace uint16, id string) uint32 {
	m.key = append(binary.BigEndian.AppendUint16(m.key[:0], marketplace), id...)
	i, known := m.assets.byKey[string(m.key)]
	if !known {
		i = m.assets.add()
		m.assets.byKey[string(m.key)] = i
	}
	return i
}

func (m *Market) dropAssets() {
	for i := range m.assets.count {
		*m.assets.edit(i, m.edition) = assetRow{}
	}
}

// setAd stores a bid's creative in the place of another, 0 for none, and returns its number.
func (m *Market) setAd(old, campaign uint32, c *Campaign, b *Bid) uint32 {
	i := old
	if i == 0 {
		if n := len(m.ads.free); n > 0 {
			i, m.ads.free = m.ads.free[n-1], m.ads.free[:n-1]
		} else {
			i = m.ads.add()
		}
	}
	ad := &Ad{
		Target: b.TargetType, ID: textOf(b.Target), Product: NoProduct, Entity: m.entity(campaign, b), Device: b.Creative.Device,
		Content: slices.Clone(b.Creative.Content),
	}
	if b.Creative.Title != "" {
		ad.Title = textOf(b.Creative.Title)
	}
	if b.TargetType == TargetProduct {
		ad.Product = m.product(c.Marketplace, b.Target)
	}
	for j := range b.Creative.Assets {
		x := &b.Creative.Assets[j]
		a := AdAsset{URL: textOf(x.URL), Content: slices.Clone(x.Content), Dimensions: x.Dimensions}
		if x.AssetID != "" {
			a.record = m.asset(c.Marketplace, x.AssetID)
		}
		ad.Assets = append(ad.Assets, a)
	}
	for _, id := range b.Creative.Products {
		ad.Products = append(ad.Products, m.product(c.Marketplace, id))
	}
	*m.ads.edit(i, m.edition) = ad
	m.dirty = true
	return i
}

// entity numbers a campaign's target.
func (m *Market) entity(campaign uint32, b *Bid) uint32 {
	m.key = append(binary.BigEndian.AppendUint32(m.key[:0], campaign), byte(b.TargetType))
	m.key = append(m.key, b.Target...)
	i, known := m.ads.entities[string(m.key)]
	if !known {
		i = uint32(len(m.ads.entities)) //nolint:gosec // BOUND: fewer than 2^32 bids.
		m.ads.entities[string(m.key)] = i
	}
	return i
}

func (m *Market) dropAd(i uint32) {
	if i != 0 {
		*m.ads.edit(i, m.edition) = nil
		m.ads.free = append(m.ads.free, i)
	}
}

// Ad returns the creative of a bid row.
func (v *View) Ad(b *BidRow) *Ad { return *v.ads.at(b.Ad) }

// Approved reports whether an asset may be shown, as far as its record decides.
func (v *View) Approved(a *AdAsset) bool { return a.record == 0 || v.assets.at(a.record).approved }

// AssetURL returns where an asset lies.
func (v *View) AssetURL(a *AdAsset) Text {
	if len(a.URL.Bytes) == 0 && a.record != 0 {
		return v.assets.at(a.record).url
	}
	return a.URL
}

// Vendor returns the id of a vendor.
func (v *View) Vendor(vendor uint32) Text { return v.names[vendor] }

// Brand returns the brand id of a product, empty without one.
func (v *View) Brand(product uint32) Text {
	if product >= v.brands.count || *v.brands.at(product) == 0 {
		return Text{}
	}
	return Text{Bytes: v.Key(v.ProductRow(*v.brands.at(product)))[len(brandPrefix):]}
}

// setBrand stores a product's brand. A brand's name is interned like a place.
func (m *Market) setBrand(product uint32, marketplace uint16, brand string) {
	row := uint32(0)
	if brand != "" {
		row = m.product(marketplace, brandPrefix+brand)
	}
	if product >= m.brands.count && row == 0 {
		return
	}
	for m.brands.count <= product {
		m.brands.add()
	}
	if *m.brands.at(product) != row {
		*m.brands.edit(product, m.edition) = row
		m.dirty = true
	}
}
