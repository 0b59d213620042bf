package audit

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
	tableReplication  = 0xFF // Of raftstore.
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
	tableJournal      = 0x1a
	tableTransfer     = 0x1e
	tableEntry        = 0x21
	tableLast         = 0x23
)

// keyBytes are the lengths of the keys that are read; others are hashed only.
var keyBytes = map[byte]int{
	tableHeader: 1, tableState: 1, tableWallet: 17, tableBudget: 5, tableCampaign: 5, tableCampaignID: 17, tableBid: 9,
	tableBucket: 6, tableDedup: 22, tableCampaignCell: 25, tableJournal: 9,
	tableTransfer: 17, tableEntry: 25,
}

// books are the second opinion on a group: what was stored on one side, what follows from the journal on the other. The
// first pass over the records fills both; the journal is the last table, so all that a line refers to is there already.
type books struct {
	r      *Report
	g      *Group
	place  string
	digest uint64
	hash   []byte // Scratch.

	header    []byte
	head      head
	hasHead   bool
	campaigns map[uint32]*campaign // By ordinal.
	byID      map[[16]byte]uint32
	wallets   map[[16]byte]*wallet
	cells     map[[16]byte]*Counts // Sums by campaign.
	bids      map[bid]*tally       // What was charged, by cells and by lines.
	buckets   map[bucket]*keys
	postPaid  map[uint16]bool    // As the journal tells.
	requests  map[[16]byte]int64 // Adjustments of the last day, by request.
	transfers map[[16]byte]*transfer
	half      *line               // A leg of a transfer that waits for the other one, which is the next line.
	listed    map[uint64][16]byte // The accounts of the lines that are no charges.
	newer     map[byte]int64      // Records of tables that are not known.
	chain     [16]byte
	seq       uint64
	millis    int64
}

type campaign struct {
	storedCampaign
	stored    storedBudget
	hasRecord bool
	hasBudget bool

	total  *big.Int // By its lines.
	period *big.Int // By its lines since the last that told a budget.
	told   bool     // The journal tells its budget.
	budget *big.Int
	number uint32   // Of the period.
	payer  [16]byte // The wallet that the journal tells.
}

type wallet struct {
	storedWallet
	deposited, spent, balance, transferred *big.Int
}

// bid names a bid of a campaign.
type bid struct {
	campaign [16]byte
	ordinal  uint32
}

// tally is what was charged for a bid: once by the cells of the reports, once by the lines.
type tally struct {
	cells                Counts
	clicks, impressions  int64 // Decisions.
	paidClicks, paidImps int64 // Decisions that charged something.
	spentClicks          big.Int
	spentImps            big.Int
}

type bucket struct {
	class uint8
	hour  uint32
}

// keys sums up a dedup bucket: as stored, and as found.
type keys struct {
	stored, found uint64
	storedXor     uint64
	foundXor      uint64
}

func newBooks(r *Report, g *Group, place string) *books {
	return &books{
		r: r, g: g, place: place, campaigns: map[uint32]*campaign{}, byID: map[[16]byte]uint32{}, wallets: map[[16]byte]*wallet{},
		cells: map[[16]byte]*Counts{}, bids: map[bid]*tally{}, buckets: map[bucket]*keys{}, postPaid: map[uint16]bool{},
		requests: map[[16]byte]int64{}, newer: map[byte]int64{}, transfers: map[[16]byte]*transfer{}, listed: map[uint64][16]byte{},
	}
}

// auditBooks reads a group's records and compares them with each other.
func auditBooks(r *Report, g *Group, place string, from source, a applied) {
	b := newBooks(r, g, place)
	if err := from([]byte{0}, []byte{0xff}, b.record); err != nil {
		b.problem("", "cannot be read to the end: %v", err)
	}
	b.compareHeads(a)
	b.compareCampaigns()
	b.compareWallets()
	b.compareTransfers()
	b.compareCells()
	b.compareBuckets()
	b.checkKeys(from)
	for table, n := range b.newer {
		r.note("group %d: %d records of table %#02x, which a newer version wrote, are covered by the digest only", g.Group, n, table)
	}
	if g.Unchecked > 0 {
		r.note("group %d: %d charges were made before the journal told the budgets; overspending by them cannot be excluded from it", g.Group, g.Unchecked)
	}
}

// problem reports a problem at a place inside the group; an empty one is the group itself.
func (b *books) problem(at, format string, args ...any) {
	place := b.place
	if at != "" {
		place += ", " + at
	}
	b.r.problem(place, format, args...)
}

// appendRecord appends what a record's hash covers: the length of the key as 2 bytes big-endian, the key, the value.
func appendRecord(dst, key, value []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(key))) //nolint:gosec // the low bits, as they are written.
	return append(append(dst, key...), value...)
}

func (b *books) hashOf(key, value []byte) uint64 {
	b.hash = appendRecord(b.hash[:0], key, value)
	return xxhash.Sum64(b.hash)
}

// record takes in one record of the first pass.
func (b *books) record(key, value []byte) {
	b.g.Records++
	table := key[0]
	if table == tableReplication {
		return // No record of the state machine, and not in its digest.
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
		ok = b.takeWallet([16]byte(rest), value)
	case tableBudget:
		c := b.campaign(binary.BigEndian.Uint32(rest))
		c.stored, ok = readBudget(value)
		c.hasBudget = true
	case tableCampaign:
		ok = b.takeCampaign(binary.BigEndian.Uint32(rest), value)
	case tableCampaignID:
		if ok = len(value) == 4; ok && b.byID[[16]byte(rest)] != binary.BigEndian.Uint32(value) {
			b.problem("index of campaign ids", "%s is not campaign %d", uuid([16]byte(rest)), binary.BigEndian.Uint32(value))
		}
	case tableBid:
		b.takeBid(binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:]))
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
	case tableCampaignCell:
		ok = b.takeCell(rest, value)
	case tableJournal:
		b.takeLine(binary.BigEndian.Uint64(rest), value)
	case tableTransfer:
		ok = b.takeTransfer([16]byte(rest), value)
	case tableEntry:
		b.takeEntry([16]byte(rest), ^binary.BigEndian.Uint64(rest[16:]))
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

// uuid writes an id as the interface does.
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
