package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// A touch is an impression or click with a token, stored so that a purchase of the same user can be credited to it. It
// lies in the group of its campaign, where the event is committed, under its day and user. Product and vendor follow
// from bid and campaign, which the group has, so that a touch takes some 45 bytes. Price and charge key are stored when
// a purchase pays for the token, some 20 bytes more.
//
// A touch is written without a read, because most users never buy. Days older than daysKept are dropped as a whole.

// daysKept is how many UTC days, the current one included, touches and credits are kept.
const daysKept = attribution.WindowDaysMax

// TouchesMax is how many clicks, and how many impressions, of a user and UTC day a group keeps. BOUND: without it a shop
// that reports all visitors as one user would make every purchase read all touches of a day. Nobody clicks a hundred ads
// a day before buying; further touches are counted and charged, and not credited.
const TouchesMax = 100

// Touch is a stored touch.
type Touch struct {
	Marketplace    uint16
	UserHash       uint64
	Kind           event.Kind
	OccurredMillis int64
	ReceivedMillis int64  // The state clock at its commit.
	Issued         uint32 // The hour in which its token was issued.
	Key            [8]byte
	Campaign, Bid  uint32 // Ordinals in the group.
	Cell           uint32
	Place          event.Place
	// Price and ChargeKey are set when a purchase pays for the token.
	Price     money.Micros
	ChargeKey [16]byte
}

// rememberTouch stores an impression or click of a campaign that was counted. It is written without looking whether the
// key exists: INVARIANT: an event id is counted once in a bucket (applyEvent), and both are part of the key.
func (m *Machine) rememberTouch(c *campaign, r *command.EventRecord) {
	if r.Kind > event.Click || r.UserHash == 0 {
		return
	}
	of := touchesOf{r.UserHash, dayOf(r.OccurredMillis), c.Marketplace, r.Kind}
	if !m.keepsTouches(of.marketplace, of.day) || !m.admitTouch(of) {
		return
	}
	millis := max(r.OccurredMillis, 0)
	m.key = append(keyTouches(m.key[:0], of.day, of.marketplace, of.user), byte(of.kind))
	m.key = appendU32(appendU32(m.key, uint32(millis%dayMillis)), r.Bucket) // Less than a day.
	m.key = appendU64(m.key, binary.BigEndian.Uint64(r.Key[:])^binary.BigEndian.Uint64(r.Key[8:]))
	m.value = appendTouch(m.value[:0], m.state.now-millis, r)
	hash := m.add(m.key, m.value)
	m.addToDay(dayIn(tableTouch, of.day), hash)
	m.touchCounts.fresh = append(m.touchCounts.fresh, freshTouch{of, [touchKeyLen]byte(m.key), hash})
	m.markAction(of.marketplace, of.user, of.kind)
}

// appendTouch appends the value of a touch. age is the time from the event to its commit.
func appendTouch(dst []byte, age int64, r *command.EventRecord) []byte {
	dst = binary.AppendUvarint(dst, uint64(r.Campaign))
	dst = binary.AppendUvarint(dst, uint64(r.Bid))
	dst = binary.AppendVarint(dst, age)
	dst = binary.AppendVarint(dst, int64(r.Cell)-max(r.OccurredMillis, 0)/cellMillis)
	dst = append(dst, byte(r.Place))
	if r.Charge != model.CPA {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(r.Price)) // Not negative.
	return append(dst, r.ChargeKey[:]...)
}

const cellMillis = 900_000

const touchKeyLen = 1 + 4 + 2 + 8 + 1 + 4 + 4 + 8

var errTouch = errors.New("malformed touch")

func readTouch(key, value []byte) (t Touch, err error) {
	if len(key) != touchKeyLen || key[15] > byte(event.Click) {
		return t, errTouch
	}
	t.Marketplace, t.UserHash = binary.BigEndian.Uint16(key[5:]), binary.BigEndian.Uint64(key[7:])
	t.Kind = event.Kind(key[15])
	t.OccurredMillis = int64(binary.BigEndian.Uint32(key[1:]))*dayMillis + int64(binary.BigEndian.Uint32(key[16:]))
	t.Issued, t.Key = binary.BigEndian.Uint32(key[20:]), [8]byte(key[24:])
	d := command.NewDecoder(value)
	t.Campaign, t.Bid = uint32(d.Uvarint()), uint32(d.Uvarint()) // Written from 32 bits.
	t.ReceivedMillis = t.OccurredMillis + d.Varint()
	t.Cell = uint32(t.OccurredMillis/cellMillis + d.Varint()) // Written from 32 bits.
	t.Place = event.Place(d.U8())
	if d.More() {
		t.Price, t.ChargeKey = money.Micros(d.Uvarint()), d.Sixteen() // Written from a Micros.
	}
	return t, d.Err()
}

// Touches calls fn for the touches of a user on days [from, to], oldest day first, until fn returns false. OWNERSHIP: a
// Touch is valid until fn returns.
func (b Queries) Touches(marketplace uint16, user uint64, from, to uint32, fn func(*Touch) bool) {
	more := true
	for _, day := range b.daysWith(tableTouch, from, to) {
		prefix := keyTouches(nil, day, marketplace, user)
		b.R.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
			t := must(readTouch(key, value))
			more = fn(&t)
			return more
		})
		if !more {
			return
		}
	}
}

// TouchedAd is what a touch was of.
type TouchedAd struct {
	Format   model.AdFormat
	VendorID string
	Product  string // Of a listing; empty for the other formats, whose ads are of no single product.
}

// TouchedAd returns what a touch was of. found is false for a bid or campaign that the group does not have.
func (b Queries) TouchedAd(t *Touch) (ad TouchedAd, found bool) {
	stored, found := b.R.Get(keyCampaign(nil, t.Campaign))
	if !found {
		return ad, false
	}
	c := must(readCampaign(stored))
	ad = TouchedAd{Format: c.Format, VendorID: c.VendorID}
	if ad.Format == model.Listing {
		ad.Product = b.targetOf(t.Campaign, t.Bid)
	}
	return ad, true
}

func (l *loader) loadTouch(key, value []byte) error {
	t, err := readTouch(key, value)
	if err != nil {
		return err
	}
	day := dayOf(t.OccurredMillis)
	if l.m.days.all[dayIn(tableTouch, day)] == nil {
		return errors.New("touch without day")
	}
	l.m.touchCounts.add(touchesOf{t.UserHash, day, t.Marketplace, t.Kind}, dayOf(l.m.state.now))
	return nil
}
