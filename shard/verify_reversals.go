package shard

import (
	"encoding/binary"
	"fmt"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// reversalChecks is what verifier remembers to check reversals.
type reversalChecks struct {
	ofLine map[uint64]money.Micros      // What was reversed of the charge of a line.
	sums   map[[16]byte]reversalSummary // The lines of a reversal, by its id.
}

// reversalSummary sums the lines of a reversal.
type reversalSummary struct {
	first, lines     uint64
	amount, ofPeriod money.Micros
}

func newReversalChecks() reversalChecks {
	return reversalChecks{ofLine: make(map[uint64]money.Micros), sums: make(map[[16]byte]reversalSummary)}
}

// periodBegan returns the first line that may be of the budget period that a BudgetInForce line is about: that line when
// a period with charges has ended, else the one before stays. It is at most the FirstLine of the machine.
func (a *verifier) periodBegan(l *ledger.Line) uint64 {
	before, known := a.budgets[l.Campaign]
	if !known || l.Amount == 0 && before.Spent != 0 && l.Bid > before.Period {
		return l.Seq
	}
	return before.FirstLine
}

// verifyReversal checks one line of a reversal: it is announced by a record, gives back no more than was charged, and
// lets the budget spend again only what its current period has spent.
func (a *verifier) verifyReversal(l *ledger.Line) error {
	r, found := a.b.Reversal(l.Key)
	c, known := a.b.CampaignByOrdinal(l.Campaign)
	b := a.budgets[l.Campaign]
	switch {
	case !found || !known || r.Campaign != c.ID || r.Wallet != l.Wallet:
		return fmt.Errorf("line %d belongs to no stored reversal of its campaign and wallet", l.Seq)
	case l.Amount <= 0 || l.Price < 0 || l.Price > l.Amount:
		return fmt.Errorf("line %d gives back %d, of it %d to the budget", l.Seq, l.Amount, l.Price)
	case l.Amount > a.spent[l.Campaign] || l.Amount > a.walletSpent[l.Wallet]:
		return fmt.Errorf("line %d gives back %d, and %d were charged", l.Seq, l.Amount, min(a.spent[l.Campaign], a.walletSpent[l.Wallet]))
	}
	if r.Line != 0 {
		if err := a.verifyReversedCharge(l, &r); err != nil {
			return err
		}
	}
	least := max(0, l.Amount-(a.spent[l.Campaign]-b.Spent))
	most := least
	if r.Line != 0 && r.Line >= b.FirstLine {
		most = min(l.Amount, b.Spent)
	}
	if l.Price < least || l.Price > most {
		return fmt.Errorf("line %d lets the budget spend %d again, it may be %d to %d", l.Seq, l.Price, least, most)
	}
	b.Spent -= l.Price
	a.budgets[l.Campaign] = b
	a.spent[l.Campaign] -= l.Amount
	a.walletSpent[l.Wallet] -= l.Amount
	s := a.reversals.sums[l.Key]
	if s.lines == 0 {
		s.first = l.Seq
	}
	a.reversals.sums[l.Key] = reversalSummary{s.first, s.lines + 1, s.amount + l.Amount, s.ofPeriod + l.Price}
	return nil
}

// verifyReversedCharge compares a line of a reversal with the line of its charge.
func (a *verifier) verifyReversedCharge(l *ledger.Line, r *Reversal) error {
	stored, found := a.b.R.Get(keyLine(nil, r.Line))
	if !found || r.Line >= l.Seq {
		return fmt.Errorf("line %d reverses line %d, which is not before it", l.Seq, r.Line)
	}
	charge := must(ledger.ReadLine(r.Line, stored))
	kinds := map[ledger.LineKind]ledger.LineKind{
		ledger.ClickReversal: ledger.ClickCharge, ledger.ImpressionReversal: ledger.ImpressionCharge,
		ledger.PurchaseReversal: ledger.PurchaseCharge,
	}
	if charge.Kind != kinds[l.Kind] || charge.Campaign != l.Campaign || charge.Bid != l.Bid || charge.Wallet != l.Wallet || charge.Amount != r.Charged {
		return fmt.Errorf("line %d reverses line %d, which is another charge", l.Seq, r.Line)
	}
	if a.reversals.ofLine[r.Line] += l.Amount; a.reversals.ofLine[r.Line] > charge.Amount {
		return fmt.Errorf("line %d: of the %d that line %d charged, %d are given back", l.Seq, charge.Amount, r.Line, a.reversals.ofLine[r.Line])
	}
	return nil
}

// verifyReversals compares the stored reversals with their lines.
func (a *verifier) verifyReversals() (err error) {
	a.b.R.Scan([]byte{tableReversal}, []byte{tableReversal + 1}, func(key, value []byte) bool {
		if key[1] == 1 {
			line, reversed := binary.BigEndian.Uint64(key[2:]), must(readReversed(value))
			if reversed != a.reversals.ofLine[line] {
				err = fmt.Errorf("of line %d %d are reversed, the journal says %d", line, reversed, a.reversals.ofLine[line])
			}
			delete(a.reversals.ofLine, line)
			return err == nil
		}
		r := must(readReversal(ids.UUID(key[2:]), value))
		want := reversalSummary{r.FirstLine, r.Lines, r.Amount, r.OfPeriod}
		if got := a.reversals.sums[r.ID]; got != want {
			err = fmt.Errorf("reversal %s has the lines %+v in the journal, its record says %+v", r.ID, got, want)
		}
		return err == nil
	})
	if err == nil && len(a.reversals.ofLine) > 0 {
		err = fmt.Errorf("%d lines are reversed in the journal and not stored as such", len(a.reversals.ofLine))
	}
	return err
}
