package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// The first byte of every key is the table of a group's state. Each line gives the rest of the key and, after the
// arrow, the value. Numbers in keys are big-endian, so that keys sort like their numbers. A text inside a key has its
// length in front, so that its end is unambiguous. Load reads the tables in this order and relies on it: marketplaces
// before campaigns, wallets and budgets before campaigns, campaigns before bids, dedup buckets before dedup keys, days
// before their records.
//
// The table numbers are part of the stored form and are append only.
const (
	tableHeader         = 0x01 // -> format version, digest. The only record that is not part of the digest.
	tableState          = 0x02 // -> state.
	tablePeriods        = 0x03 // marketplace u16 -> command.Periods.
	tableMarketplace    = 0x04 // marketplace u16 -> model.Marketplace.
	tableSecrets        = 0x05 // -> command.Secrets.
	tableRecord         = 0x06 // kind u8, marketplace u16, id -> version, class, value.
	tableCategory       = 0x07 // marketplace u16, id -> model.Category.
	tableProduct        = 0x08 // marketplace u16, id -> model.Product.
	tableVendorItem     = 0x09 // marketplace u16, vendor, product id -> nothing.
	tableWallet         = 0x0a // wallet id -> ledger.Wallet.
	tableVendorWallet   = 0x0b // marketplace u16, vendor, wallet id -> nothing.
	tableAdjust         = 0x0c // hour u32, request id -> balance after the adjustment.
	tableBudget         = 0x0d // campaign u32 -> ledger.Budget.
	tableCampaign       = 0x0e // campaign u32 -> model.Campaign, first bid, bids.
	tableCampaignID     = 0x0f // campaign id -> campaign u32.
	tableNewest         = 0x10 // marketplace u16, created descending, campaign u32 descending -> nothing.
	tableVendorNewest   = 0x11 // marketplace u16, vendor, created descending, campaign u32 descending -> nothing.
	tableExternalID     = 0x12 // marketplace u16, format u8, external id -> campaign u32.
	tableBid            = 0x13 // campaign u32, bid u32 -> model.Bid.
	tableBidID          = 0x14 // bid id -> campaign u32, bid u32.
	tableBucket         = 0x15 // class u8, bucket u32 -> number of keys, xor of the hashes of their records.
	tableDedup          = 0x16 // class u8, bucket u32, key -> outcome, charged.
	tableCampaignCell   = 0x17 // campaign id, cell u32, bid u32 -> rollup.Counters.
	tableProductCell    = 0x18 // marketplace u16, product, cell u32 -> rollup.Counters.
	tableNoCampaignCell = 0x19 // marketplace u16, cell u32 -> rollup.Counters of events of no campaign.
	tableJournal        = 0x1a // line u64 -> ledger.Line.
	tableSegment        = 0x1b // marketplace u16, segment, 0 -> head of the segment; from 1 on -> pieces of its users, ascending.
	tableStaged         = 0x1c // marketplace u16, segment, upload, piece u32 -> time of staging, users.
	tableAttempt        = 0x1d // turn u64 -> attempt id, answer.
	tableTransfer       = 0x1e // transfer id -> ledger.Transfer.
	tableNewTransfer    = 0x1f // marketplace u16, time of request descending, transfer id -> nothing; in the sender's group.
	tableTransit        = 0x20 // marketplace u16, transfer id -> nothing; in the sender's group while the transfer is in transit.
	tableEntry          = 0x21 // account id, line descending -> the other account, description.
	tableEmptied        = 0x22 // marketplace u16, wallet id, number u32 -> time; until the notice to the vendor is stored (ForgetEmptied).
	tableUnknown        = 0x23 // marketplace u16, day u32, product -> nothing.
	tableVendorMark     = 0x24 // marketplace u16, vendor -> deletion id, of a vendor that the catalog lost.
	tableNotice         = 0x25 // marketplace u16, notice id -> value, until its delivery is stored (ForgetNotices).
	tablePace           = 0x26 // campaign u32 -> command.Paced, the last decision of the pacing controller.
	tablePaced          = 0x27 // -> number of the last Pace, and the reports that the holds contain.
	tableClickRate      = 0x28 // marketplace u16, format u8, level u8, from level 1 on placement u8, at level 2 product or bid u32 -> learn.Rate.
	tableClickDelay     = 0x29 // marketplace u16 -> learn.Delay.
	tableTraffic        = 0x2a // marketplace u16 -> Traffic; in the meta group.
	tableExclusive      = 0x2c // marketplace u16, format u8, product -> bids of exclusive campaigns: campaign u32, bid u32 each.
	tableDay            = 0x30 // table u8, day u32, and for tableEvent marketplace u16 -> number of the table's records of the day, xor of their hashes.
	tableTouch          = 0x31 // day u32, marketplace u16, user u64, kind u8, millisecond of the day u32, bucket u32, key 8 bytes -> Touch.
	tableOpenCredit     = 0x32 // opened u64, event key -> command.OpenCredit.
	tableCredit         = 0x33 // day u32, event key, item u16 -> charged, command.Credit.
	tableSoldCell       = 0x34 // campaign id, cell u32, product -> rollup.Counters of what was attributed.
	tableAuctionCell    = 0x35 // campaign u32, cell u32 -> rollup.Auctions.
	tableTally          = 0x36 // node u16 -> start and number of the last CountAuctions of the node.
	tablePurchase       = 0x37 // day u32, event key -> command.Purchase.
	tableOpenReturn     = 0x38 // opened u64, event key of the purchase -> number of pieces that came back.
	tableReversal       = 0x39 // 0, reversal id -> Reversal; 1, line u64 -> amount of the line that was reversed.
	tableLink           = 0x3a // day u32, marketplace u16, user u64 -> users that were linked to the user on the day: user u64, millisecond of the day u32 each.
	tableLinkedTo       = 0x3b // day u32, marketplace u16, user u64 -> users to which the user was linked on the day, as in tableLink.
	tableTouchesFrom    = 0x3c // marketplace u16 -> day u32 before which the marketplace has no touches any more.
	tablePurchases      = 0x3e // marketplace u16, format u8, and for an ad product or campaign u32 -> learn.Purchases.
	tableReturned       = 0x3f // campaign u32 -> market.Returned.
	tableWatch          = 0x40 // 0, marketplace u16 -> kinds of actions that mark their users; 1, marketplace u16, time u64, user u64 -> nothing.
	tableBought         = 0x41 // day u32, marketplace u16, user u64 -> what the user bought on the day (UserPurchase).
	tableMember         = 0x42 // A dynamic segment: see below.
	tableUserClicks     = 0x43 // day u32, marketplace u16, user u64 -> valid clicks of the user on the day: millisecond of the day, campaign, bid each.
	tableBuyer          = 0x46 // day u32, marketplace u16, user u64, event key of a purchase of the day -> nothing.
	tableEnrolment      = 0x47 // day u32, marketplace u16, user u64, campaign u32 -> percent u8, millisecond of the day.
	tablePlaceCell      = 0x48 // campaign id, cell u32, event.Place u8 -> rollup.Counters: those of tableCampaignCell by place.
	tableParticipant    = 0x49 // day u32, marketplace u16, user u64 -> start of the experiment, impressions, clicks, spent.
	tableEvent          = 0x4a // day u32, marketplace u16, number u32 -> StoredEvent; an event of a marketplace that keeps them.
	tableEnd            = 0x4b
)

// The keys of tableMember go on with
//
//	0, marketplace u16, segment             -> head of a dynamic segment
//	1, number u64, user u64                 -> command.Membership
//	2, number u64, next change u64, user u64 -> nothing

func appendU16(dst []byte, v uint16) []byte { return binary.BigEndian.AppendUint16(dst, v) }
func appendU32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }
func appendU64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

// appendSized appends a text with its length in front.
func appendSized(dst []byte, s string) []byte { return append(appendU16(dst, uint16(len(s))), s...) } // Texts in keys are at most textMax long.

// textMax bounds the texts that become part of a key: ids are at most 255 characters of at most 4 bytes.
const textMax = 1_020

func keyMarketplace(dst []byte, marketplace uint16) []byte {
	return appendU16(append(dst, tableMarketplace), marketplace)
}

func keyPeriods(dst []byte, marketplace uint16) []byte {
	return appendU16(append(dst, tablePeriods), marketplace)
}

func keyRecord(dst []byte, kind command.RecordKind, marketplace uint16, id string) []byte {
	return append(appendU16(append(dst, tableRecord, byte(kind)), marketplace), id...)
}

func keyCatalog(dst []byte, table byte, marketplace uint16, id string) []byte {
	return append(appendU16(append(dst, table), marketplace), id...)
}

// keyOfVendor starts the keys of what belongs to a vendor.
func keyOfVendor(dst []byte, table byte, marketplace uint16, vendor string) []byte {
	return appendSized(appendU16(append(dst, table), marketplace), vendor)
}

func keyWallet(dst []byte, id ids.UUID) []byte { return append(append(dst, tableWallet), id[:]...) }

func keyAdjust(dst []byte, hour uint32, request ids.UUID) []byte {
	return append(appendU32(append(dst, tableAdjust), hour), request[:]...)
}

func keyBudget(dst []byte, ordinal uint32) []byte {
	return appendU32(append(dst, tableBudget), ordinal)
}

func keyCampaign(dst []byte, ordinal uint32) []byte {
	return appendU32(append(dst, tableCampaign), ordinal)
}

func keyCampaignID(dst []byte, id ids.UUID) []byte {
	return append(append(dst, tableCampaignID), id[:]...)
}

func appendNewest(dst []byte, c *model.Campaign) []byte {
	return appendU32(appendU64(dst, ^uint64(c.CreatedMillis)), ^c.Ordinal) // Only the order matters.
}

func keyExternalID(dst []byte, marketplace uint16, format model.AdFormat, id string) []byte {
	return append(append(appendU16(append(dst, tableExternalID), marketplace), byte(format)), id...)
}

func keyExclusive(dst []byte, marketplace uint16, format model.AdFormat, product string) []byte {
	return append(append(appendU16(append(dst, tableExclusive), marketplace), byte(format)), product...)
}

func keyBid(dst []byte, campaign, bid uint32) []byte {
	return appendU32(appendU32(append(dst, tableBid), campaign), bid)
}

func keyBidID(dst []byte, id ids.UUID) []byte { return append(append(dst, tableBidID), id[:]...) }

func keyBucket(dst []byte, id bucketID) []byte {
	return appendU32(append(dst, tableBucket, byte(id.class)), id.hour)
}

func keyDedup(dst []byte, id bucketID) []byte {
	return appendU32(append(dst, tableDedup, byte(id.class)), id.hour)
}

func keyCampaignCell(dst []byte, campaign ids.UUID, cell, bid uint32) []byte {
	return appendU32(appendU32(append(append(dst, tableCampaignCell), campaign[:]...), cell), bid)
}

func keyPlaceCell(dst []byte, campaign ids.UUID, cell uint32, place event.Place) []byte {
	return append(appendU32(append(append(dst, tablePlaceCell), campaign[:]...), cell), byte(place))
}

// keyProductCell names the counters of a product. The product comes as bytes because events carry it so.
func keyProductCell(dst []byte, marketplace uint16, product []byte, cell uint32) []byte {
	dst = appendU16(append(dst, tableProductCell), marketplace)
	dst = append(appendU16(dst, uint16(len(product))), product...) // At most textMax.
	return appendU32(dst, cell)
}

func keyNoCampaignCell(dst []byte, marketplace uint16, cell uint32) []byte {
	return appendU32(appendU16(append(dst, tableNoCampaignCell), marketplace), cell)
}

// prefixUnknown starts the keys of the unknown products that count for themselves on a day.
func prefixUnknown(dst []byte, marketplace uint16, day uint32) []byte {
	return appendU32(appendU16(append(dst, tableUnknown), marketplace), day)
}

// prefixSegment starts the keys of a segment.
func prefixSegment(dst []byte, marketplace uint16, segment string) []byte {
	return appendSized(appendU16(append(dst, tableSegment), marketplace), segment)
}

// prefixStaged starts the keys of an upload.
func prefixStaged(dst []byte, marketplace uint16, segment string, upload ids.UUID) []byte {
	return append(appendSized(appendU16(append(dst, tableStaged), marketplace), segment), upload[:]...)
}

func keyTransfer(dst []byte, id ids.UUID) []byte { return append(append(dst, tableTransfer), id[:]...) }

func keyNewTransfer(dst []byte, marketplace uint16, millis int64, id ids.UUID) []byte {
	dst = appendU64(appendU16(append(dst, tableNewTransfer), marketplace), ^uint64(millis)) // Only the order matters.
	return append(dst, id[:]...)
}

func keyTransit(dst []byte, marketplace uint16, id ids.UUID) []byte {
	return append(appendU16(append(dst, tableTransit), marketplace), id[:]...)
}

func keyEntry(dst []byte, account ids.UUID, line uint64) []byte {
	return appendU64(append(append(dst, tableEntry), account[:]...), ^line)
}

func keyEmptied(dst []byte, marketplace uint16, wallet ids.UUID, number uint32) []byte {
	return appendU32(append(appendU16(append(dst, tableEmptied), marketplace), wallet[:]...), number)
}

func keyPace(dst []byte, ordinal uint32) []byte { return appendU32(append(dst, tablePace), ordinal) }

// keyClickRate starts the keys of a level of click rates.
func keyClickRate(dst []byte, marketplace uint16, format model.AdFormat, level market.ClickLevel) []byte {
	return append(appendU16(append(dst, tableClickRate), marketplace), byte(format), byte(level))
}

func keyClickDelay(dst []byte, marketplace uint16) []byte {
	return appendU16(append(dst, tableClickDelay), marketplace)
}

func keyAuctionCell(dst []byte, campaign, cell uint32) []byte {
	return appendU32(appendU32(append(dst, tableAuctionCell), campaign), cell)
}

func keyTally(dst []byte, node uint16) []byte { return appendU16(append(dst, tableTally), node) }

func keyTraffic(dst []byte, marketplace uint16) []byte {
	return appendU16(append(dst, tableTraffic), marketplace)
}

func keyLine(dst []byte, seq uint64) []byte { return appendU64(append(dst, tableJournal), seq) }

// keyDay names a day of a table whose records are dropped by day.
func keyDay(dst []byte, id dayID) []byte {
	return appendDayID(append(dst, tableDay), id)
}

// appendDayID starts the keys of the records of a day.
func appendDayID(dst []byte, id dayID) []byte {
	dst = appendU32(append(dst, id.table), id.day)
	if id.marketplace != 0 {
		dst = appendU16(dst, id.marketplace)
	}
	return dst
}

// keyTouches starts the keys of the touches of a user on a day.
func keyTouches(dst []byte, day uint32, marketplace uint16, user uint64) []byte {
	return appendU64(appendU16(appendU32(append(dst, tableTouch), day), marketplace), user)
}

// keyUserClicks names the valid clicks of a user on a day.
func keyUserClicks(dst []byte, day uint32, marketplace uint16, user uint64) []byte {
	return appendU64(appendU16(appendU32(append(dst, tableUserClicks), day), marketplace), user)
}

// keyLinks names the links of a user on a day: tableLink or tableLinkedTo.
func keyLinks(dst []byte, table byte, day uint32, marketplace uint16, user uint64) []byte {
	return appendU64(appendU16(appendU32(append(dst, table), day), marketplace), user)
}

func keyTouchesFrom(dst []byte, marketplace uint16) []byte {
	return appendU16(append(dst, tableTouchesFrom), marketplace)
}

func keyOpenCredit(dst []byte, n *command.PurchaseName) []byte {
	return append(appendU64(append(dst, tableOpenCredit), uint64(n.OpenedMillis)), n.Key[:]...) // Not negative.
}

func keyCredit(dst []byte, n *command.PurchaseName, item uint16) []byte {
	return appendU16(append(appendU32(append(dst, tableCredit), dayOf(n.OpenedMillis)), n.Key[:]...), item)
}

func keyPurchase(dst []byte, day uint32, key *[16]byte) []byte {
	return append(appendU32(append(dst, tablePurchase), day), key[:]...)
}

func keyOpenReturn(dst []byte, n *command.PurchaseName) []byte {
	return append(appendU64(append(dst, tableOpenReturn), uint64(n.OpenedMillis)), n.Key[:]...) // Not negative.
}

func keyReversal(dst []byte, id ids.UUID) []byte {
	return append(append(dst, tableReversal, 0), id[:]...)
}

func keyReversedLine(dst []byte, line uint64) []byte {
	return appendU64(append(dst, tableReversal, 1), line)
}

func keySoldCell(dst []byte, campaign ids.UUID, cell uint32, product string) []byte {
	return append(appendU32(append(append(dst, tableSoldCell), campaign[:]...), cell), product...)
}

// class says what a dedup key identifies. It is part of stored keys: append only.
type class uint8

const (
	classEvent      class = iota // An event id.
	classClick                   // The charge key of a click.
	classImpression              // The charge key of an impression.
	classReceived                // An event id in the hour of its report instead of its own (repeats.go).
	classPurchase                // The charge key of an attributed purchase.
	classes         = iota
)

func chargeClass(k event.Kind) class {
	switch k {
	case event.Click:
		return classClick
	case event.Purchase:
		return classPurchase
	default:
		return classImpression
	}
}

// prefixEnd returns the smallest key that sorts after all keys with the prefix. REQUIRES: prefix starts with a table
// number.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; ; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
}
