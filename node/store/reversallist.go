package store

import (
	"context"
	"strconv"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// ReversalLinesMax bounds the work of a page of Reversals. BOUND: lines of the account that are read, of every kind; the next page goes
// on below them.
const ReversalLinesMax = 2_000

// Reversals lists the reversals that gave an account its money again, newest first, at most p.Limit within span. next is the position
// below which the next page continues, empty at the end: a page that ends because of ReversalLinesMax may have fewer reversals than
// p.Limit, and even none.
func (t Tenant) Reversals(_ context.Context, account ids.UUID, span shard.Span, p Page) (all []shard.Reversal, next string, err error) {
	type list struct {
		reversals []shard.Reversal
		next      uint64
	}
	before, _ := strconv.ParseUint(p.After, 10, 64) // The cursor is authenticated.
	got, err := read(t, t.groupOfAccount(account), func(b shard.Queries) (out list) {
		lines, more := b.Entries(account, before, shard.Span{From: span.From}, ReversalLinesMax)
		for i := range lines {
			r, ok := reversalAt(b, &lines[i])
			switch {
			case !ok || span.To != 0 && r.Millis >= span.To:
			case len(out.reversals) == p.Limit:
				out.next = lastLineOf(&out.reversals[p.Limit-1])
				return out
			default:
				out.reversals = append(out.reversals, r)
			}
		}
		if more {
			out.next = lines[len(lines)-1].Seq
		}
		return out
	})
	if got.next != 0 {
		next = strconv.FormatUint(got.next, 10)
	}
	return got.reversals, next, err
}

// reversalAt returns the reversal whose last line in the journal is an entry; the other lines of a reversal are not counted again.
func reversalAt(b shard.Queries, e *shard.Entry) (shard.Reversal, bool) {
	if !isReversal(e.Kind) {
		return shard.Reversal{}, false
	}
	r, found := b.Reversal(e.Key)
	return r, found && e.Seq == lastLineOf(&r)
}

func lastLineOf(r *shard.Reversal) uint64 { return r.FirstLine + r.Lines - 1 }

func isReversal(k ledger.LineKind) bool {
	return k == ledger.ClickReversal || k == ledger.ImpressionReversal || k == ledger.PurchaseReversal
}
