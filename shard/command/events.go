package command

import (
	"encoding/binary"
	"slices"

	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
)

// An event record has a fixed part of 78 bytes, followed by the optional parts that its flags announce.
const (
	eventRecordLen = 78
	purchaseMinLen = 18
)

// The flags of an event record.
const (
	hasExternal = 1 << iota
	hasEntity
	hasItems
	hasUnknown // From LevelProducts on: after the items, one bit for each item says whether it is unknown.
	hasAd      // From LevelPacing on: after these, the rank, the age and the product of the ad.
	hasReturn  // From LevelReturns on: at the end, the key of the purchase that is returned.
	eventFlags = hasExternal | hasEntity | hasItems
)

// AppendEvents appends an Events command.
func AppendEvents(dst []byte, nowMillis int64, e *Events) []byte {
	dst, at := begin(dst, OpEvents, nowMillis, len(e.Records))
	dst = binary.LittleEndian.AppendUint16(dst, e.Marketplace)
	for i := range e.Records {
		dst = AppendEventRecord(dst, &e.Records[i])
		dst[at+levelAt] = max(dst[at+levelAt], byte(e.Records[i].needs())) // LevelNewest fits a byte.
	}
	return seal(dst, at)
}

// needs returns the level from which a record may be proposed.
func (r *EventRecord) needs() Level {
	switch {
	case !r.Place.IsPlacement():
		return LevelPlaces
	case r.ReturnOf != [16]byte{}:
		return LevelReturns
	case r.Rank != 0:
		return LevelPacing
	case hasUnknownItem(r):
		return LevelProducts
	}
	return LevelFormat1
}

// AppendEventRecord appends a record as AppendEvents does, so that it can be stored by itself.
func AppendEventRecord(dst []byte, r *EventRecord) []byte {
	var flags byte
	if !r.ExternalCampaign.IsZero() {
		flags |= hasExternal
	}
	if len(r.Entity) > 0 || r.EntityType != event.NoEntity {
		flags |= hasEntity
	}
	if len(r.Items) > 0 {
		flags |= hasItems
	}
	if hasUnknownItem(r) {
		flags |= hasUnknown
	}
	if r.Rank != 0 {
		flags |= hasAd
	}
	if r.ReturnOf != [16]byte{} {
		flags |= hasReturn
	}
	dst = append(dst, flags, byte(r.Kind), byte(r.Charge), byte(r.Place))
	dst = append(dst, r.Key[:]...)
	dst = append(dst, r.ChargeKey[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, r.Bucket)
	dst = binary.LittleEndian.AppendUint32(dst, r.Cell)
	dst = appendI64(dst, r.OccurredMillis)
	dst = binary.LittleEndian.AppendUint32(dst, r.Campaign)
	dst = binary.LittleEndian.AppendUint32(dst, r.Bid)
	dst = AppendMoney(dst, r.Price)
	dst = binary.LittleEndian.AppendUint64(dst, r.UserHash)
	dst = append(dst, 0, 0) // Reserved.
	if flags&hasExternal != 0 {
		dst = append(dst, r.ExternalCampaign[:]...)
	}
	if flags&hasEntity != 0 {
		dst = append(dst, byte(r.EntityType))
		dst = AppendBytes(dst, r.Entity)
	}
	if flags&hasItems != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(r.Items)))
		for i := range r.Items {
			item := &r.Items[i]
			dst = AppendBytes(dst, item.ProductID)
			dst = AppendBytes(dst, item.VendorID)
			dst = appendI64(dst, item.Quantity)
			dst = AppendMoney(dst, item.UnitPrice)
		}
	}
	if flags&hasUnknown != 0 {
		dst = appendUnknown(dst, r.Items)
	}
	if flags&hasAd != 0 {
		dst = append(dst, r.Rank)
		dst = binary.LittleEndian.AppendUint32(dst, r.AgeSeconds)
		dst = AppendBytes(dst, r.Product)
	}
	if flags&hasReturn != 0 {
		dst = append(dst, r.ReturnOf[:]...)
	}
	return dst
}

func hasUnknownItem(r *EventRecord) bool {
	return slices.ContainsFunc(r.Items, func(item PurchaseItem) bool { return item.Unknown })
}

func appendUnknown(dst []byte, items []PurchaseItem) []byte {
	first := len(dst)
	dst = append(dst, make([]byte, (len(items)+7)/8)...)
	for i := range items {
		if items[i].Unknown {
			dst[first+i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

// readUnknown reads which items are unknown. It fails when none is, or when a bit beyond the items is set.
func readUnknown(d *Decoder, items []PurchaseItem) {
	some := false
	for first := 0; first < len(items); first += 8 {
		bits := d.U8()
		for i := range min(8, len(items)-first) {
			items[first+i].Unknown = bits>>i&1 != 0
			some = some || items[first+i].Unknown
			bits &^= 1 << i
		}
		if bits != 0 {
			d.Fail()
		}
	}
	if !some {
		d.Fail()
	}
}

// ReadEvents reads an Events command into e and reuses the memory of e, so that it allocates nothing once e has grown.
// It returns ErrUnreadable for a malformed command. OWNERSHIP: entities, products and item ids alias the command.
func ReadEvents(c *Command, e *Events) error {
	d := NewDecoder(c.body)
	e.Marketplace = d.U16()
	n := c.list(&d, eventRecordLen)
	if cap(e.Records) < n {
		e.Records = append(e.Records[:cap(e.Records)], make([]EventRecord, n-cap(e.Records))...)
	}
	e.Records = e.Records[:n]
	needs := LevelFormat1
	for i := range e.Records {
		ReadEventRecord(&d, &e.Records[i])
		needs = max(needs, e.Records[i].needs())
	}
	// A command must state the level that its records need, so that it has only one encoding.
	if needs != c.Needs {
		d.Fail()
	}
	return d.Err()
}

// ReadEventRecord reads the record of AppendEventRecord, as d.Err says. It reuses the memory of r.Items. OWNERSHIP: entity, product and
// item ids alias what d reads.
func ReadEventRecord(d *Decoder, r *EventRecord) {
	items := r.Items[:0]
	flags := d.U8()
	*r = EventRecord{
		Kind:           event.Kind(d.Enum(event.Kinds)),
		Charge:         model.ChargeType(d.Enum(model.ChargeTypes)),
		Place:          event.Place(d.U8()),
		Key:            d.Sixteen(),
		ChargeKey:      d.Sixteen(),
		Bucket:         d.U32(),
		Cell:           d.U32(),
		OccurredMillis: d.I64(),
		Campaign:       d.U32(),
		Bid:            d.U32(),
		Price:          d.Price(),
		UserHash:       d.U64(),
	}
	if d.U16() != 0 || !r.Place.Valid() || flags&^(eventFlags|hasUnknown|hasAd|hasReturn) != 0 {
		d.Fail()
	}
	if flags&hasExternal != 0 {
		r.ExternalCampaign = d.UUID()
	}
	if flags&hasEntity != 0 {
		r.EntityType = event.EntityType(d.Enum(uint8(event.URLEntity) + 1))
		r.Entity = d.Bytes()
	}
	if flags&hasItems != 0 {
		for range d.Count(purchaseMinLen) {
			items = append(items, PurchaseItem{
				ProductID: d.Bytes(), VendorID: d.Bytes(), Quantity: d.I64(), UnitPrice: d.Price(),
			})
		}
	}
	if flags&hasUnknown != 0 {
		readUnknown(d, items)
	}
	r.Items = items
	if flags&hasAd != 0 {
		r.Rank, r.AgeSeconds, r.Product = d.U8(), d.U32(), d.Bytes()
		if r.Rank == 0 {
			d.Fail()
		}
	}
	if flags&hasReturn != 0 {
		if r.ReturnOf = d.Sixteen(); r.ReturnOf == [16]byte{} || r.Kind != event.Purchase {
			d.Fail()
		}
	}
}
