package fsck

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"

	"github.com/cespare/xxhash/v2"
)

// Tables of a group's state: the first byte of a key.
const (
	tableHeader       = 0x01
	tableReplication  = 0xFF // Written by raftstore.
	tableState        = 0x02
	tableMarketplace  = 0x04
	tableWallet       = 0x0a
	tableBudget       = 0x0d
	tableCampaign     = 0x0e
	tableCampaignID   = 0x0f
	tableBid          = 0x13
	tableBucket       = 0x15
	tableDedup        = 0x16
	tableCampaignCell = 0x17
	tableProductCell  = 0x18
	tableOtherCell    = 0x19 // Of events of no campaign.
	tableJournal      = 0x1a
	tableTransfer     = 0x1e
	tableEntry        = 0x21
	tableDay          = 0x30
	tableTouch        = 0x31
	tableCredit       = 0x33
	tableSoldCell     = 0x34
	tablePurchase     = 0x37
	tableReversal     = 0x39
	tableLink         = 0x3a
	tableLinkedTo     = 0x3b
	tableBought       = 0x41
	tableUserClicks   = 0x43
	tableBuyer        = 0x46
	tableEnrolment    = 0x47
	tablePlaceCell    = 0x48
	tableParticipant  = 0x49
	tableEvent        = 0x4a
	tableLast         = 0x4a
)

// keyBytes are the lengths of the keys of the tables that are read; the others are only hashed.
var keyBytes = map[byte]int{
	tableHeader: 1, tableState: 1, tableWallet: 17, tableBudget: 5, tableCampaign: 5, tableCampaignID: 17, tableBid: 9,
	tableBucket: 6, tableDedup: 22, tableCampaignCell: 25, tableJournal: 9,
	tableTransfer: 17, tableEntry: 25, tableTouch: 32, tableCredit: 23, tablePurchase: 21,
	tableLink: 15, tableLinkedTo: 15, tableBought: 15, tableUserClicks: 15, tableBuyer: 31, tableEnrolment: 19, tablePlaceCell: 22, tableParticipant: 15,
	tableEvent: 11,
}

// groupCheck compares the stored values of a group with what follows from its journal. One pass over the records fills
// both; the journal is the last table, so the records that a line refers to have been read before it.
type groupCheck struct {
	r      *Report
	g      *Group
	place  string
	digest uint64
	hash   []byte // Scratch.

	header        []byte
	head          head
	hasHead       bool
	campaigns     map[uint32]*campaign // By ordinal.
	byID          map[[16]byte]uint32
	wallets       map[[16]byte]*wallet
	cells         map[[16]byte]*Counts // Sums by campaign.
	places        map[[16]byte]*Counts // The same, of the counters by place.
	bids          map[bid]*tally       // Charges by bid, from cells and from lines.
	buckets       map[bucket]*keys
	days          map[day]*keys
	postPaid      map[uint16]bool         // Billing mode by marketplace, from the journal.
	requests      map[[16]byte]adjustment // Time of the last day's adjustments.
	reversals     map[[16]byte]*reversal
	reversed      map[uint64]*reversedLine // Charges that were reversed, by line.
	transfers     map[[16]byte]*transfer
	openLeg       *line               // The first leg of a transfer; the next line must be the other one.
	entryAccounts map[uint64][16]byte // Accounts by the number of the line, for lines that are no charges.
	newer         map[byte]int64      // Number of records of unknown tables.
	chain         [16]byte
	seq           uint64
	millis        int64
}

type campaign struct {
	storedCampaign
	stored    storedBudget
	hasRecord bool
	hasBudget bool

	total       *big.Int // Sum of its lines.
	period      *big.Int // Sum of its lines after the last line with a budget.
	budgetKnown bool     // The journal contains its budget.
	budget      *big.Int
	number      uint32   // Number of the period.
	payer       [16]byte // The wallet that the journal names.
	carry       carry
	firstLine   uint64        // The first line that may be of the period.
	before      carriedBudget // The budget before the last line with one.
	budgetLine  uint64        // The number of that line.
}

type wallet struct {
	storedWallet
	deposited, spent, balance, transferred *big.Int
}

// bid identifies a bid of a campaign.
type bid struct {
	campaign [16]byte
	ordinal  uint32
}

// tally is what was charged for a bid, from the cells of the reports and from the lines.
type tally struct {
	cells                Counts
	clicks, impressions  int64 // Decided charges.
	paidClicks, paidImps int64 // Decided charges above 0.
	spentClicks          big.Int
	spentImps            big.Int
	paidPurchases        int64
	spentPurchases       big.Int
}

type bucket struct {
	class uint8
	hour  uint32
}

// day names the records of a table that are dropped by day: touches, credited items and links of users. Events are dropped
// by marketplace and day; the marketplace is 0 for other tables.
type day struct {
	table       uint8
	day         uint32
	marketplace uint16
}

// keys is the count and the hash of a dedup bucket, or of the records of a day, as stored and as found.
type keys struct {
	stored, found uint64
	storedXor     uint64
	foundXor      uint64
}

func newGroupCheck(r *Report, g *Group, place string) *groupCheck {
	return &groupCheck{
		r: r, g: g, place: place, campaigns: map[uint32]*campaign{}, byID: map[[16]byte]uint32{}, wallets: map[[16]byte]*wallet{},
		cells: map[[16]byte]*Counts{}, places: map[[16]byte]*Counts{}, bids: map[bid]*tally{}, buckets: map[bucket]*keys{}, days: map[day]*keys{}, postPaid: map[uint16]bool{},
		requests: map[[16]byte]adjustment{}, reversals: map[[16]byte]*reversal{}, reversed: map[uint64]*reversedLine{}, newer: map[byte]int64{}, transfers: map[[16]byte]*transfer{}, entryAccounts: map[uint64][16]byte{},
	}
}

// checkGroup reads the records of a group and compares them with each other.
func checkGroup(r *Report, g *Group, place string, from source, a applied) {
	b := newGroupCheck(r, g, place)
	if err := from([]byte{tableReversal}, []byte{tableReversal + 1}, b.addReversal); err != nil {
		b.problem("", "the reversals cannot be read to the end: %v", err)
	}
	if err := from([]byte{0}, []byte{0xff}, b.record); err != nil {
		b.problem("", "the records cannot be read to the end: %v", err)
	}
	b.compareHeads(a)
	b.compareCampaigns()
	b.comparePlaces()
	b.compareWallets()
	b.compareTransfers()
	b.compareCells()
	b.compareBuckets()
	b.checkKeys(from)
	b.compareReversals()
	for table, n := range b.newer {
		r.note("group %d: %d records of table %#02x were written by a newer version; only the digest checks them", g.Group, n, table)
	}
	if g.Unchecked > 0 {
		r.note("group %d: %d charges are older than the budgets in the journal, so overspend by them cannot be excluded", g.Group, g.Unchecked)
	}
}

// problem reports a problem at a place inside the group; an empty place is the group itself.
func (b *groupCheck) problem(at, format string, args ...any) {
	place := b.place
	if at != "" {
		place += ", " + at
	}
	b.r.problem(place, format, args...)
}

// appendRecord appends what a record's hash covers: the length of the key as 2 bytes big-endian, the key, the value.
func appendRecord(dst, key, value []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(key))) // The low bits, as they are written.
	return append(append(dst, key...), value...)
}

func (b *groupCheck) hashOf(key, value []byte) uint64 {
	b.hash = appendRecord(b.hash[:0], key, value)
	return xxhash.Sum64(b.hash)
}

// record reads one record of the pass.
func (b *groupCheck) record(key, value []byte) {
	b.g.Records++
	table := key[0]
	if table == tableReplication {
		return // The state machine does not write it, and the digest does not cover it.
	}
	var hash uint64
	if table != tableHeader {
		hash = b.hashOf(key, value)
		b.digest ^= hash
	}
	if want, read := keyBytes[table]; read && len(key) != want {
		b.problem(fmt.Sprintf("key %x", key), "is malformed")
		return
	}
	ok := true
	switch rest := key[1:]; table {
	case tableHeader:
		b.header = append([]byte{}, value...)
	case tableState:
		b.head, ok = readHead(value)
		b.hasHead = true
	case tableWallet:
		ok = b.addWallet([16]byte(rest), value)
	case tableBudget:
		c := b.campaign(binary.BigEndian.Uint32(rest))
		c.stored, ok = readBudget(value)
		c.hasBudget = true
	case tableCampaign:
		ok = b.addCampaign(binary.BigEndian.Uint32(rest), value)
	case tableCampaignID:
		if ok = len(value) == 4; ok && b.byID[[16]byte(rest)] != binary.BigEndian.Uint32(value) {
			b.problem("index of campaign ids", "%s is not campaign %d", uuid([16]byte(rest)), binary.BigEndian.Uint32(value))
		}
	case tableBid:
		b.checkBid(binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:]))
	case tableBucket:
		r := reader{rest: value}
		k := b.bucket(rest)
		k.stored, k.storedXor = r.u64(), r.u64()
		ok = r.ended()
	case tableDedup:
		k := b.bucket(rest)
		k.found++
		k.foundXor ^= hash
		b.countKey(rest[0])
	case tableDay:
		r := reader{rest: value}
		if ok = isDay(rest); !ok {
			break
		}
		k := b.day(rest[0], rest[1:])
		k.stored, k.storedXor = r.u64(), r.u64()
		ok = r.ended()
	case tableTouch, tableCredit, tablePurchase, tableLink, tableLinkedTo, tableBought, tableUserClicks, tableBuyer, tableEnrolment, tableParticipant, tableEvent:
		k := b.day(table, rest)
		k.found++
		k.foundXor ^= hash
	case tableCampaignCell:
		ok = b.addCell(key, value)
	case tablePlaceCell:
		ok = b.addPlace([16]byte(rest), value)
	case tableProductCell, tableOtherCell, tableSoldCell:
		_, ok = b.counts(key, value)
	case tableJournal:
		b.checkLine(binary.BigEndian.Uint64(rest), value)
	case tableTransfer:
		ok = b.addTransfer([16]byte(rest), value)
	case tableEntry:
		b.checkEntry([16]byte(rest), ^binary.BigEndian.Uint64(rest[16:]))
	default:
		if table > tableLast {
			b.newer[table]++
		}
	}
	if !ok {
		b.problem(fmt.Sprintf("key %x", key), "its value cannot be decoded")
	}
}

func (c *campaign) place() string { return "campaign " + uuid(c.id) }

// uuid formats an id as the interface does.
func uuid(id [16]byte) string {
	var b [36]byte
	hex.Encode(b[:], id[:4])
	b[8] = '-'
	hex.Encode(b[9:], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:], id[10:])
	return string(b[:])
}
