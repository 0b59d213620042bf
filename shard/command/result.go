package command

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/shard/money"
)

// ErrMarketplaceClosed says that events were refused as MarketplaceClosed.
var ErrMarketplaceClosed = errors.New("the marketplace is closed")

// Every answer of the machine starts with a Refusal byte, so that every reader function recognises a refused command.

var refusalNames = [...]string{
	"done", "not found", "already exists", "conflict", "wrong state", "insufficient balance", "too many", "cycle", "invalid",
	"too early", "expired", "vendor deleted", "needs a total budget", "exceeds the charge",
	"marketplace closed",
}

// String returns the refusal in words.
func (r Refusal) String() string {
	if int(r) < len(refusalNames) {
		return refusalNames[r]
	}
	return fmt.Sprintf("refusal %d", uint8(r))
}

// AppendResult appends the answer to a management command.
func AppendResult(dst []byte, r *Result) []byte {
	dst = append(dst, byte(r.Refusal))
	dst = binary.AppendUvarint(dst, uint64(clampU32(r.Index)))
	dst = AppendMoney(dst, r.Balance)
	return binary.LittleEndian.AppendUint32(dst, r.FirstOrdinal)
}

// ReadResult reads the answer to a management command. It returns ErrUnreadable for a malformed answer.
func ReadResult(b []byte) (Result, error) {
	d := NewDecoder(b)
	r := Result{Refusal: Refusal(d.U8()), Index: int(uint32(d.Uvarint())), Balance: d.Money(), FirstOrdinal: d.U32()} // Written from a uint32.
	return r, d.Err()
}

// AppendEventResults appends the outcomes of an Events command, in the order of its records.
func AppendEventResults(dst []byte, all []EventResult) []byte {
	dst = append(dst, byte(Done))
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for i := range all {
		dst = append(dst, byte(all[i].Outcome))
		dst = binary.AppendUvarint(dst, uint64(all[i].Charged)) // Charges are not negative.
		dst = binary.AppendUvarint(dst, uint64(all[i].Clipped)) // Clips are not negative.
	}
	return dst
}

// ReadEventResults reads the answer to an Events command and appends the results to dst. It returns ErrUnreadable for a
// malformed answer, and when the command was refused, which had no effect: ErrMarketplaceClosed, or ErrUnreadable, which is a
// defect of the proposer.
func ReadEventResults(dst []EventResult, b []byte) ([]EventResult, error) {
	d := NewDecoder(b)
	switch Refusal(d.U8()) {
	case Done:
	case MarketplaceClosed:
		return dst, ErrMarketplaceClosed
	default:
		return dst, ErrUnreadable
	}
	for range d.Count(3) {
		dst = append(dst, EventResult{
			Outcome: Outcome(d.Enum(uint8(Outcomes))),
			Charged: money.Micros(d.Uvarint()), // Written from a Micros.
			Clipped: money.Micros(d.Uvarint()), // Written from a Micros.
		})
	}
	return dst, d.Err()
}
