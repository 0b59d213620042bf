package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// LineKind says what a journal line records. Append only.
type LineKind uint8

// The line kinds.
const (
	ClickCharge      LineKind = iota + 1 // The charge decision of a click, also when nothing was charged.
	ImpressionCharge                     // The charge decision of an impression.
	Adjustment                           // A deposit or correction of a wallet.
	// BudgetInForce records the budget of a campaign from this line on: Price is the amount per period, 0 for none; Amount
	// is what counts as spent in the period so far; Bid is the number of the period; Key is the campaign's id. No money
	// moves.
	BudgetInForce
	// BillingMode records how a marketplace charges from this line on: Bid is its ordinal; Price is 1 when wallets are
	// billed later and do not limit charges, and 0 when they are prepaid. No money moves. Before the first such line they
	// are prepaid.
	BillingMode
	// TransferLeg is one side of a transfer within the group: Key is the id of the transfer, Wallet the account, Price the
	// amount moved, and Amount what was added, negative on the paying side. INVARIANT: the two legs of a transfer are
	// consecutive lines with opposite amounts.
	TransferLeg
	// TransferSent is an amount that was sent to an account of another group, as a negative Amount.
	TransferSent
	// TransferReceived is an amount received from another group. INVARIANT: that group's journal has the TransferSent with
	// this Key.
	TransferReceived
	// TransferReturned gives back a TransferSent that the other group refused.
	TransferReturned
	// BudgetCarried follows the BudgetInForce line of a budget that is carried over: Price is what the day may spend on
	// top of the amount, Amount what the earlier days of the month left unspent; Bid is Carryover.Month; Key is the
	// campaign's id. No money moves. A BudgetInForce without it is a budget that is not carried over.
	BudgetCarried
	PurchaseCharge // The charge decision of a purchase that was attributed, also when nothing was charged.
	// ClickReversal gives back to the wallet what clicks of a bid were charged: Key is the id of the reversal, whose record
	// has reason, author and charge; Amount, more than 0, is what was given back, and Price the part of it that the budget
	// may spend again in its current period. The two kinds after it say the same of impressions and purchases.
	ClickReversal
	ImpressionReversal
	PurchaseReversal
)

// Chain is the running hash over all lines up to one: SHA-256 over the previous chain and the line, truncated to 128
// bits.
type Chain [16]byte

// Line is one line of a group's journal. The journal is append-only: a correction is a new line. Balances, budgets and
// spent amounts follow from the journal; shard.Queries.Verify recomputes them.
type Line struct {
	Seq      uint64 // From 1, without gaps.
	Millis   int64  // State clock at commit.
	Kind     LineKind
	Campaign uint32       // Ordinal; 0 on an Adjustment.
	Bid      uint32       // Ordinal; 0 on an Adjustment.
	Key      [16]byte     // The charge key, the request id of an Adjustment, the id of a transfer.
	Wallet   ids.UUID     // The wallet debited, adjusted or moved to or from.
	Price    money.Micros // The requested amount.
	Amount   money.Micros // The amount charged or added. INVARIANT: 0 <= Amount <= Price for a charge.
	Chain    Chain        // INVARIANT: it equals Next(chain of line Seq-1, this line).
}

// LineLen is the length of a stored line. Its Seq is in the key.
const LineLen = lineBodyLen + 16

const lineBodyLen = 8 + 1 + 4 + 4 + 16 + 16 + 8 + 8

// ErrUnreadable is returned for bytes that AppendLine did not write.
var ErrUnreadable = errors.New("unreadable journal line")

// AppendLine links l to the chain of the line before it and appends its stored form.
func AppendLine(dst []byte, before Chain, l *Line) []byte {
	from := len(dst)
	dst = appendBody(dst, l)
	l.Chain = link(before, l.Seq, dst[from:])
	return append(dst, l.Chain[:]...)
}

// Next returns the chain that l must carry after a line with the given chain.
func Next(before Chain, l *Line) Chain {
	return link(before, l.Seq, appendBody(make([]byte, 0, lineBodyLen), l))
}

func link(before Chain, seq uint64, body []byte) Chain {
	var b [16 + 8 + lineBodyLen]byte
	copy(b[:], before[:])
	binary.LittleEndian.PutUint64(b[16:], seq)
	copy(b[24:], body)
	sum := sha256.Sum256(b[:])
	return Chain(sum[:16])
}

func appendBody(dst []byte, l *Line) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(l.Millis)) // Two's complement both ways.
	dst = append(dst, byte(l.Kind))
	dst = binary.LittleEndian.AppendUint32(dst, l.Campaign)
	dst = binary.LittleEndian.AppendUint32(dst, l.Bid)
	dst = append(dst, l.Key[:]...)
	dst = append(dst, l.Wallet[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(l.Price))   // Two's complement both ways.
	return binary.LittleEndian.AppendUint64(dst, uint64(l.Amount)) // Two's complement both ways.
}

// ReadLine reads the stored form of line seq.
func ReadLine(seq uint64, b []byte) (Line, error) {
	if len(b) != LineLen {
		return Line{}, ErrUnreadable
	}
	l := Line{
		Seq:      seq,
		Millis:   int64(binary.LittleEndian.Uint64(b)), // Two's complement both ways.
		Kind:     LineKind(b[8]),
		Campaign: binary.LittleEndian.Uint32(b[9:]),
		Bid:      binary.LittleEndian.Uint32(b[13:]),
		Price:    money.Micros(binary.LittleEndian.Uint64(b[49:])), // Two's complement both ways.
		Amount:   money.Micros(binary.LittleEndian.Uint64(b[57:])), // Two's complement both ways.
	}
	copy(l.Key[:], b[17:])
	copy(l.Wallet[:], b[33:])
	copy(l.Chain[:], b[65:])
	return l, nil
}
