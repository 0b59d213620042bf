package shard

import (
	"fmt"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
)

// PiecesReturned is piecesReturned.
func PiecesReturned(p *command.Purchase) int64 { return piecesReturned(p) }

// LimitUnknownProducts replaces UnknownProductsMax, so that a few products reach it.
func (m *Machine) LimitUnknownProducts(n int) { m.unknownMax = n }

// LimitFilters replaces hotBytesMax, so that only the current hour has filters.
func (m *Machine) LimitFilters(n int) { m.hotBytesMax = n }

// Filters returns how many buckets of dedup keys have a filter, and how many bytes these have.
func (m *Machine) Filters() (n, bytes int) {
	for _, k := range m.dedup.buckets { // order: a count.
		if k.filter != nil {
			n++
		}
	}
	return n, m.dedup.hot
}

// LimitPurchaseAds replaces PurchaseAdsMax, so that a few ads reach it.
func (m *Machine) LimitPurchaseAds(n int) { m.purchaseAdsMax = n }

// LimitClickAds replaces ClickAdsMax, so that a few ads reach it.
func (m *Machine) LimitClickAds(n int) { m.clickAdsMax = n }

// LimitTouches replaces TouchesMax, so that a few touches reach it.
func (m *Machine) LimitTouches(n int) { m.touchesMax = n }

// LimitEnrolments replaces EnrolmentsMax, so that a few users reach it.
func (m *Machine) LimitEnrolments(n int) { m.enrolmentsMax = n }

// LimitParticipants replaces ParticipantsMax.
func (m *Machine) LimitParticipants(n int) { m.participantsMax = n }

// LimitEvents replaces EventsMax.
func (m *Machine) LimitEvents(n int) { m.eventsMax = n }

// LimitLinks replaces LinksMax, so that a few links reach it.
func (m *Machine) LimitLinks(n int) { m.linksMax = n }

// LimitTouchesPurged replaces touchesPurged, so that a purge takes several commands.
func (m *Machine) LimitTouchesPurged(n int) { m.touchesPurged = n }

// LimitDynamicUsers replaces dynamicUsersMax, so that a few users reach it.
func (m *Machine) LimitDynamicUsers(n uint32) { m.dynamicUsersMax = n }

// LimitMarks replaces UserMarksMax, so that a few marks reach it.
func (m *Machine) LimitMarks(n int) { m.marksMax = n }

// FilterMistakes adds keys to an idFilter, fails if one is not found, and returns how many of absent keys may be contained.
func FilterMistakes(t *testing.T, keys, absent int) (mistakes int) {
	f := &idFilter{}
	for i := range keys {
		f.add(fmt.Appendf(nil, "key %d", i))
	}
	for i := range keys {
		if !f.mayContain(fmt.Appendf(nil, "key %d", i)) {
			t.Fatalf("key %d is not found", i)
		}
	}
	for i := range absent {
		if f.mayContain(fmt.Appendf(nil, "absent %d", i)) {
			mistakes++
		}
	}
	return mistakes
}

// KeyFilter is keyFilter.
type KeyFilter struct{ f keyFilter }

// Insert calls insert.
func (k *KeyFilter) Insert(key *[16]byte) bool { return k.f.insert(key) }

// MayContain calls mayContain.
func (k *KeyFilter) MayContain(key *[16]byte) bool { return k.f.mayContain(key) }

// Layers returns the number of layers.
func (k *KeyFilter) Layers() int { return len(k.f.layers) }
