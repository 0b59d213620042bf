package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// Span is a time span in Unix milliseconds; it includes From and excludes To. The zero Span is all time.
type Span struct{ From, To int64 }

// Entry is a journal line that is listed under an account: an adjustment or one side of a transfer. Charges are not
// listed under accounts; their sum is the account's Spent.
type Entry struct {
	ledger.Line
	Other       ids.UUID // The account on the other side of a transfer.
	Description string
}

// entriesStep is how many entries are read in one scan.
const entriesStep = 100

// Entries lists the entries of an account within span, newest first, starting below line number before (0: at the
// newest).
func (b Queries) Entries(account ids.UUID, before uint64, span Span, limit int) (all []Entry, more bool) {
	for {
		step := b.entries(account, before)
		for i := range step {
			e := &step[i]
			switch {
			case span.To != 0 && e.Millis >= span.To:
			case e.Millis < span.From:
				return all, false // The state clock never goes back, so all further entries are older too.
			case len(all) == limit:
				return all, true
			default:
				all = append(all, *e)
			}
		}
		if len(step) < entriesStep {
			return all, false
		}
		before = step[len(step)-1].Seq
	}
}

// entries reads up to entriesStep entries below a line number, with their journal lines.
func (b Queries) entries(account ids.UUID, before uint64) (all []Entry) {
	from := keyEntry(nil, account, before-1) // For 0 this wraps to the largest number, whose key is the first.
	prefix := from[:len(from)-8]
	b.R.Scan(from, prefixEnd(prefix), func(key, value []byte) bool {
		d := command.NewDecoder(value)
		e := Entry{Line: ledger.Line{Seq: ^binary.BigEndian.Uint64(key[len(prefix):])}, Other: d.UUID(), Description: d.Text()}
		all = append(all, must(e, d.Err()))
		return len(all) < entriesStep
	})
	for i := range all {
		stored, _ := b.R.Get(keyLine(nil, all[i].Seq))
		all[i].Line = must(ledger.ReadLine(all[i].Seq, stored))
	}
	return all
}

// Transfer returns a transfer that this group sent or received, or made between two of its own accounts.
func (b Queries) Transfer(id ids.UUID) (ledger.Transfer, bool) {
	stored, found := b.R.Get(keyTransfer(nil, id))
	if !found {
		return ledger.Transfer{}, false
	}
	return must(readTransfer(id, stored)), true
}

// Transfers lists the transfers that accounts of this group paid within span, newest first, after the given one (nil:
// from the newest).
func (b Queries) Transfers(marketplace uint16, before *ledger.Transfer, span Span, limit int) (all []ledger.Transfer, more bool) {
	prefix := appendU16([]byte{tableNewTransfer}, marketplace)
	from := prefix
	if span.To != 0 {
		from = keyNewTransfer(nil, marketplace, span.To-1, ids.UUID{})
	}
	if before != nil {
		if last := append(keyNewTransfer(nil, marketplace, before.Millis, before.ID), 0); string(last) > string(from) {
			from = last
		}
	}
	var names []ids.UUID
	b.R.Scan(from, prefixEnd(prefix), func(key, _ []byte) bool {
		if millis := int64(^binary.BigEndian.Uint64(key[len(prefix):])); millis < span.From { // As it was written.
			return false
		}
		if more = len(names) == limit; more {
			return false
		}
		names = append(names, ids.UUID(key[len(prefix)+8:]))
		return true
	})
	for _, id := range names {
		t, _ := b.Transfer(id)
		all = append(all, t)
	}
	return all, more
}

// InTransit lists transfers of a marketplace that this group sent and whose result is not recorded here yet.
func (b Queries) InTransit(marketplace uint16, limit int) (all []ledger.Transfer) {
	prefix := appendU16([]byte{tableTransit}, marketplace)
	names, _ := page(b.R, prefix, "", limit, func(id string, _ []byte) ids.UUID { return ids.UUID([]byte(id)) })
	for _, id := range names {
		t, _ := b.Transfer(id)
		all = append(all, t)
	}
	return all
}

// Emptied is the stored reminder that a wallet was emptied and that the notice to its vendor is still to be written.
type Emptied struct {
	Wallet ledger.Wallet
	Number uint32 // Counts how often the wallet was emptied, from 1.
	Millis int64  // When, on the state clock.
}

// Emptied lists the reminders of a marketplace about wallets that were emptied.
func (b Queries) Emptied(marketplace uint16, limit int) []Emptied {
	prefix := appendU16([]byte{tableEmptied}, marketplace)
	all, _ := page(b.R, prefix, "", limit, func(key string, value []byte) Emptied {
		d := command.NewDecoder(value)
		e := Emptied{
			Wallet: ledger.Wallet{ID: ids.UUID([]byte(key[:16]))}, Number: binary.BigEndian.Uint32([]byte(key[16:])), Millis: d.I64(),
		}
		return must(e, d.Err())
	})
	for i := range all {
		all[i].Wallet, _ = b.Wallet(all[i].Wallet.ID)
	}
	return all
}
