package market

import (
	"encoding/binary"
	"slices"

	"github.com/gavel-ads/gavel/shard/model"
)

// Text is a text of a view.
type Text struct {
	Bytes    []byte
	JSONSafe bool // A JSON string may contain Bytes without escaping.
}

func textOf(s string) Text { return Text{[]byte(s), jsonSafe(s)} }

// Ad is the creative of a banner or sponsored-brand bid as auctions read it. It never changes; a changed bid gets a new
// Ad.
type Ad struct {
	Target  model.TargetType
	ID      Text   // The id of the target, or its URL.
	Product uint32 // Row of a product target; NoProduct otherwise.
	Entity  uint32 // Equal for all bids of a campaign on the same target, so that the target wins at most once.
	Device  model.Device
	Assets  []AdAsset
	Title   Text   // Empty when not set.
	Content []byte // Raw JSON object, empty for none.
	// Products are rows of the creative's own products; empty: the products of the campaign apply.
	Products []uint32
}

// NoProduct is the row number that means no product.
const NoProduct = ^uint32(0)

// AdAsset is one asset of a banner.
type AdAsset struct {
	URL        Text // Empty: the URL of the asset record.
	Content    []byte
	Dimensions model.Dimensions
	record     uint32 // Row of the asset record; 0: approved with its campaign.
}

// ads holds the creatives by the number in BidRow.Ad. The numbers of deleted bids are reused.
type ads struct {
	rows[*Ad]
	free     []uint32
	entities map[string]uint32
}

func (a *ads) init() {
	a.add() // Row 0 is no ad.
	a.entities = map[string]uint32{}
}

// assets holds the asset records that bids name, by row.
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

// PutAsset adds or replaces an asset. A bid does not show an asset that it names and that was not put.
func (m *Market) PutAsset(marketplace uint16, a *model.Asset) {
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

// setAd stores the creative of a bid under the number old, or under a new number if old is 0, and returns the number.
func (m *Market) setAd(old, campaign uint32, c *model.Campaign, b *model.Bid) uint32 {
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
	if b.TargetType == model.TargetProduct {
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

// entity returns the number of a target of a campaign and assigns one on its first mention.
func (m *Market) entity(campaign uint32, b *model.Bid) uint32 {
	m.key = append(binary.BigEndian.AppendUint32(m.key[:0], campaign), byte(b.TargetType))
	m.key = append(m.key, b.Target...)
	i, known := m.ads.entities[string(m.key)]
	if !known {
		i = uint32(len(m.ads.entities)) // BOUND: fewer than 2^32 bids.
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

// Approved reports whether an asset is approved by its record. An asset without a record is approved with its campaign.
func (v *View) Approved(a *AdAsset) bool { return a.record == 0 || v.assets.at(a.record).approved }

// AssetURL returns the URL of an asset: its own, or that of its record.
func (v *View) AssetURL(a *AdAsset) Text {
	if len(a.URL.Bytes) == 0 && a.record != 0 {
		return v.assets.at(a.record).url
	}
	return a.URL
}

// Vendor returns the id of a vendor.
func (v *View) Vendor(vendor uint32) Text { return v.vendorIDs[vendor] }

// Brand returns the brand id of a product, empty when it has none.
func (v *View) Brand(product uint32) Text {
	if product >= v.brands.count || *v.brands.at(product) == 0 {
		return Text{}
	}
	return Text{Bytes: v.Key(v.ProductRow(*v.brands.at(product)))[len(brandPrefix):]}
}

// setBrand stores the brand of a product. A brand id is interned among the products like a place (type places).
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
