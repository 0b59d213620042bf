package ledger

import "github.com/gavel-ads/gavel/shard/money"

// Charge debits a price from budget and wallet, or as much of it as both have left, and returns the amount debited.
// With postPaid the wallet does not limit the charge. REQUIRES: price is not negative.
//
// INVARIANT: 0 <= charged <= price; charged is at most what the budget had left; and, unless postPaid, at most the
// wallet's balance. So billed overspend is 0 by construction, and a charge never makes the balance of a prepaid wallet
// negative.
func Charge(b *Budget, w *Wallet, postPaid bool, price money.Micros) (charged money.Micros) {
	charged = price
	if left, limited := b.Left(); limited {
		charged = min(charged, left)
	}
	if !postPaid {
		charged = min(charged, max(0, w.Balance))
	}
	// No sum may leave the range of amounts. No real account comes near it, but a sum must never wrap around.
	charged = min(charged, money.MaxMicros-b.SpentTotal, money.MaxMicros-w.Spent, w.Balance+money.MaxMicros)
	b.Spent += charged
	b.SpentTotal += charged
	w.Balance -= charged
	w.Spent += charged
	return charged
}

// Reverse gives an amount of past charges back to the wallet, and returns the part of it that belongs to the budget's
// current period and may be spent again. inPeriod says that all of it was charged in that period. Otherwise only that
// part belongs to it which the periods before cannot have spent. ok is false, and nothing is changed, when it is more
// than was charged, or the balance would leave the range of amounts. REQUIRES: amount is not negative.
//
// INVARIANT: 0 <= Spent <= SpentTotal, so what the period has spent, less what was reversed of it, stays within the cap.
func Reverse(b *Budget, w *Wallet, amount money.Micros, inPeriod bool) (ofPeriod money.Micros, ok bool) {
	balance, ok := money.Add(w.Balance, amount)
	if !ok || amount > b.SpentTotal || amount > w.Spent {
		return 0, false
	}
	ofPeriod = max(0, amount-(b.SpentTotal-b.Spent))
	if inPeriod {
		ofPeriod = min(amount, b.Spent)
	}
	b.Spent -= ofPeriod
	b.SpentTotal -= amount
	w.Balance = balance
	w.Spent -= amount
	return ofPeriod, true
}

// Adjust adds a deposit or correction, which may be negative, to the wallet. ok is false, and nothing is changed, when
// a sum would leave the range of amounts.
func (w *Wallet) Adjust(amount money.Micros) (ok bool) {
	return w.add(&w.Deposited, amount)
}

// Move adds the amount of a transfer, negative on the paying side. ok is false, and nothing is changed, when a sum
// would leave the range of amounts.
func (w *Wallet) Move(amount money.Micros) (ok bool) {
	return w.add(&w.Transferred, amount)
}

func (w *Wallet) add(sum *money.Micros, amount money.Micros) (ok bool) {
	balance, ok := money.Add(w.Balance, amount)
	if !ok {
		return false
	}
	total, ok := money.Add(*sum, amount)
	if !ok {
		return false
	}
	w.Balance, *sum = balance, total
	return true
}

// Roll starts a new period if its number is higher than the current one, and reports whether it did. A period never
// goes back, so a clock that goes back cannot make a budget available twice.
func (b *Budget) Roll(period uint32) bool {
	if period <= b.Period {
		return false
	}
	b.Period, b.Spent, b.Overdelivered, b.Carryover, b.FirstLine = period, 0, 0, Carryover{}, 0
	return true
}

// Overdeliver counts an amount that could not be charged, or as much of it as the sum can hold, and returns what was
// counted. REQUIRES: amount is not negative.
func (b *Budget) Overdeliver(amount money.Micros) (counted money.Micros) {
	counted = min(amount, money.MaxMicros-b.OverdeliveredTotal)
	b.Overdelivered += counted
	b.OverdeliveredTotal += counted
	return counted
}
