package market

import (
	"encoding/binary"
	"maps"

	"github.com/gavel-ads/gavel/shard/model"
)

// places holds the places where banners or sponsored brands are shown. A place is a media slot or a placement, named by
// its external id. The bids of a place are stored in a block of rows like those of a product: the place is interned
// among the products, under a key that no product id can have, because 0xff does not occur in UTF-8. So all code that
// manages blocks of bids also manages those of places.
//
// The contents of their records are in a map that is copied before its first change in an edition. BOUND: a marketplace
// has thousands of places, not millions.
type places struct {
	byKey map[string]*Place
	owned uint64 // The edition in which byKey was copied.
}

// Place is a media slot or placement in a view.
type Place struct {
	Row        uint32 // The product row that holds its bids.
	Active     bool
	Dimensions [model.Devices]model.Dimensions // Of a media slot, by device.
}

// These are the first bytes of interned keys that no id can have.
const (
	placePrefix = "\xff"
	brandPrefix = "\xffn"
	travelAny   = "\xffs"  // Pseudo category of the travel products that have a site.
	travelSite  = "\xffs:" // Pseudo category of one site.
	travelType  = "\xfft:" // Pseudo category of one kind of travel.
	aliasKind   = 0xff     // Instead of an AdFormat in the key of a placement's UUID.
)

func (p *places) init() { p.byKey = map[string]*Place{} }

// AppendPlaceKey appends the key of a place, by which View.Place finds it.
func AppendPlaceKey[T string | []byte](dst []byte, marketplace uint16, format model.AdFormat, id T) []byte {
	return append(append(binary.BigEndian.AppendUint16(dst, marketplace), byte(format)), id...)
}

// Place returns the place of a key, nil when there is no record of it. It allocates nothing.
func (v *View) Place(key []byte) *Place { return v.places[string(key)] }

// PutMediaSlot adds or replaces a media slot.
func (m *Market) PutMediaSlot(marketplace uint16, s *model.MediaSlot) {
	m.mu.Lock()
	defer m.mu.Unlock()

	place := &Place{Row: m.placeRow(marketplace, model.Banner, s.ID), Active: s.Active, Dimensions: s.Dimensions}
	m.setPlace(marketplace, model.Banner, s.ID, place)
}

// DeleteMediaSlot removes a media slot by its external id. Its bids stay, and compete again when the slot is put again.
func (m *Market) DeleteMediaSlot(marketplace uint16, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.setPlace(marketplace, model.Banner, id, nil)
}

// PutPlacement adds or replaces a placement. View.Placement finds it by its external id and by its UUID.
func (m *Market) PutPlacement(marketplace uint16, p *model.Placement) {
	m.mu.Lock()
	defer m.mu.Unlock()

	place := &Place{Row: m.placeRow(marketplace, model.SponsoredBrand, p.ExternalID), Active: p.Active}
	m.setPlace(marketplace, model.SponsoredBrand, p.ExternalID, place)
	m.setPlace(marketplace, aliasKind, p.ID, place)
}

// DeletePlacement removes a placement.
func (m *Market) DeletePlacement(marketplace uint16, p *model.Placement) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.setPlace(marketplace, model.SponsoredBrand, p.ExternalID, nil)
	m.setPlace(marketplace, aliasKind, p.ID, nil)
}

// Placement returns a placement by external id or UUID, nil when there is none. It builds keys in scratch and returns
// that memory as key, for reuse.
func (v *View) Placement(scratch []byte, marketplace uint16, id []byte) (place *Place, key []byte) {
	key = AppendPlaceKey(scratch, marketplace, model.SponsoredBrand, id)
	if place = v.Place(key); place == nil {
		key = AppendPlaceKey(key[:0], marketplace, aliasKind, id)
		place = v.Place(key)
	}
	return place, key
}

func (m *Market) setPlace(marketplace uint16, kind model.AdFormat, id string, place *Place) {
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
func (m *Market) placeRow(marketplace uint16, format model.AdFormat, id string) uint32 {
	return m.product(marketplace, placePrefix+string(rune('0'+format))+id)
}

// PlaceID returns the external id of a place's row.
func (v *View) PlaceID(row uint32) []byte { return v.Key(v.ProductRow(row))[len(placePrefix)+1:] }

func (m *Market) dropPlaces() {
	m.places = places{owned: m.edition}
	m.places.init()
}
