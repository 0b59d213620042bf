package ledger

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

func TestCharge(t *testing.T) {
	const huge = money.MaxMicros
	for name, x := range map[string]struct {
		budget   Budget
		wallet   Wallet
		postPaid bool
		price    money.Micros
		want     money.Micros
	}{
		"in full":                     {Budget{Amount: 100, Spent: 40}, Wallet{Balance: 60}, false, 60, 60},
		"one more than the budget":    {Budget{Amount: 100, Spent: 41}, Wallet{Balance: 60}, false, 60, 59},
		"one more than the wallet":    {Budget{Amount: 100, Spent: 40}, Wallet{Balance: 59}, false, 60, 59},
		"no budget of its own":        {Budget{}, Wallet{Balance: 10}, false, 60, 10},
		"budget spent":                {Budget{Amount: 100, Spent: 100}, Wallet{Balance: 60}, false, 60, 0},
		"budget cut below spent":      {Budget{Amount: 10, Spent: 40}, Wallet{Balance: 60}, false, 60, 0},
		"wallet in debt":              {Budget{}, Wallet{Balance: -5}, false, 60, 0},
		"post-paid wallet":            {Budget{}, Wallet{Balance: -5}, true, 60, 60},
		"post-paid, budget":           {Budget{Amount: 20}, Wallet{Balance: -5}, true, 60, 20},
		"debt as large as can be":     {Budget{}, Wallet{Balance: -huge + 7}, true, 60, 7},
		"spending as large as can be": {Budget{SpentTotal: huge - 8}, Wallet{Balance: huge}, false, 60, 8},
	} {
		b, w := x.budget, x.wallet
		got := Charge(&b, &w, x.postPaid, x.price)
		if got != x.want {
			t.Errorf("%s: charged %d, want %d", name, got, x.want)
		}
		if b.Spent != x.budget.Spent+got || b.SpentTotal != x.budget.SpentTotal+got || w.Balance != x.wallet.Balance-got ||
			w.Spent != x.wallet.Spent+got {
			t.Errorf("%s: the ledger does not balance: %+v, %+v", name, b, w)
		}
	}
}

func TestAdjustStaysInRange(t *testing.T) {
	w := Wallet{Balance: 5, Deposited: 10, Spent: 5}
	if !w.Adjust(-7) || w.Balance != -2 || w.Deposited != 3 {
		t.Errorf("a correction: %+v", w)
	}
	before := w
	if w.Adjust(money.MaxMicros) || w != before {
		t.Errorf("a deposit beyond the range: %+v", w)
	}
}

func TestPeriodsOnlyRollForward(t *testing.T) {
	b := Budget{Period: 10, Spent: 5, SpentTotal: 7}
	for _, period := range []uint32{9, 10, 0} {
		if b.Roll(period) || b.Spent != 5 {
			t.Errorf("rolled to %d: %+v", period, b)
		}
	}
	if !b.Roll(12) || b != (Budget{Period: 12, SpentTotal: 7}) {
		t.Errorf("rolled to 12: %+v", b)
	}
}

// TestChainFindsEveryChange links three lines and changes every byte of the middle one.
func TestChainFindsEveryChange(t *testing.T) {
	line := Line{
		Seq: 2, Millis: 3, Kind: ClickCharge, Campaign: 4, Bid: 5, Key: [16]byte{6}, Wallet: ids.UUID{7}, Price: 8, Amount: 9,
	}
	before := Chain{1}
	stored := AppendLine(nil, before, &line)
	read, err := ReadLine(2, stored)
	if err != nil || read != line || Next(before, &read) != read.Chain {
		t.Fatalf("read back %+v, %v", read, err)
	}
	for i := range stored {
		changed := append([]byte(nil), stored...)
		changed[i]++
		if l, _ := ReadLine(2, changed); Next(before, &l) == l.Chain {
			t.Errorf("byte %d changed unseen", i)
		}
	}
	if l, _ := ReadLine(3, stored); Next(before, &l) == l.Chain {
		t.Error("another number unseen")
	}
	if Next(Chain{2}, &read) == read.Chain {
		t.Error("another predecessor unseen")
	}
	if _, err := ReadLine(2, stored[1:]); err == nil {
		t.Error("a short line was read")
	}
}
