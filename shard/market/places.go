package market

import (
	"encoding/binary"
	"maps"
)

// A place is where banners or sponsored brands are shown: a slot or a placement, by its external id. Its bids lie in a
// block of rows as a product's do: a place is interned among the products, under a key that no product id can be,
// because 0xff is in no UTF-8. So everything that keeps blocks of bids keeps those of places too.
//
// What the records say of places stands in a map that is copied before its first change of an edition. BOUND: a
// marketplace has thousands of them, not millions.
type places struct {
	byKey map[string]*Place
	owned uint64 // The edition that made byKey private.
}

// Place is a slot or placement in a view.
type Place struct {
	Row        uint32 // Its bids are those of this product row.
	Active     bool
	Dimensions [Devices]Dimensions // Of a slot.
}

// The first bytes of the keys that no id can be.
const (
	placePrefix = "\xff"
	brandPrefix = "\xffn"
	travelAny   = "\xffs" // Pseudo categories of travel products: any site,
	travelSite  = "\xffs:"
	travelType  = "\xfft:"
	aliasKind   = 0xff
)

func (p *places) init() { p.byKey = map[string]*Place{} }

// AppendPlaceKey appends the key of a place, by which View.Place finds it.
func AppendPlaceKey[T string | []byte](dst []byte, marketplace uint16, format AdFormat, id T) []byte {
	return append(append(binary.BigEndian.AppendUint16(dst, marketplace), byte(format)), id...)
}

// Place returns the place of a key, nil when there is no record of it. It allocates nothing.
func (v *View) Place(key []byte) *Place { return v.places[string(key)] }

// PutBannerSlot adds or replaces a slot.
func (m *Market) PutBannerSlot(marketplace uint16, s *BannerSlot) {
	m.mu.Lock()
	defer m.mu.Unlock()

	place := &Place{Row: m.placeRow(marketplace, Banner, s.ID), Active: s.Active, Dimensions: s.Dimensions}
	m.setPlace(marketplace, Banner, s.ID, place)
}

// DeleteBannerSlot removes a slot by its external id. Its bids stay and count again when it comes back.
func (m *Market) DeleteBannerSlot(marketplace uint16, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.setPlace(marketplace, Banner, id, nil)
}

// PutPlacement adds or replaces a placement, which is found by its external id and by its UUID.
func (m *Market) PutPlacement(marketplace uint16, p *Placement) {
	m.mu.Lock()
	defer m.mu.Unlock()

	place := &Place{Row: m.placeRow(marketplace, SponsoredBrand, p.ExternalID), Active: p.Active}
	m.setPlace(marketplace, SponsoredBrand, p.ExternalID, place)
	m.setPlace(marketplace, aliasKind, p.ID, place)
}

// DeletePlacement removes a placement.
func (m *Market) DeletePlacement(marketplace uint16, p *Placement) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.setPlace(marketplace, SponsoredBrand, p.ExternalID, nil)
	m.setPlace(marketplace, aliasKind, p.ID, nil)
}

// Placement returns a placement by external id or UUID, whose key it makes in scratch; nil when there is none.
func (v *View) Placement(scratch []byte, marketplace uint16, id []byte) (place *Place, key []byte) {
	key = AppendPlaceKey(scratch, marketplace, SponsoredBrand, id)
	if place = v.Place(key); place == nil {
		key = AppendPlaceKey(key[:0], marketplace, aliasKind, id)
		place = v.Place(key)
	}
	return place, key
}

func (m *Market) setPlace(marketplace uint16, kind AdFormat, id string, place *Place) {
	if m.places.owned != m.edition {
		m.places.byKey = maps.Clone(m.places.byKey)
		m.places.owned = m.edition
	}
	key := string(AppendPlaceKey(nil, marketplace, kind, id))
	if place == nil {
		delete(m.places.byKey, key)
	} else {
		m.places.byKey[key] = place
	}
	m.dirty = true
}

// placeRow returns the product row that holds a place's bids.
func (m *Market) placeRow(marketplace uint16, format AdFormat, id string) uint32 {
	return m.product(marketplace, placePrefix+string(rune('0'+format))+id)
}

// PlaceID returns the external id of a place's row.
func (v *View) PlaceID(row uint32) []byte { return v.Key(v.ProductRow(row))[len(placePrefix)+1:] }

func (m *Market) dropPlaces() {
	m.places = places{owned: m.edition}
	m.places.init()
}
