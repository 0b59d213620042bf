package pacing

import "github.com/gavel-ads/gavel/shard/money"

// Mode says how the budget of a campaign is spread over its period.
type Mode uint8

// The modes.
const (
	// Unlimited campaigns have no budget: the word is Open, and the hold counts for the wallet only.
	Unlimited Mode = iota
	// Fast spends as fast as auctions are won: the word is Open until nothing is left. It is the mode of total budgets.
	Fast
	// Even follows the traffic that is expected between Plan.StartMillis and Plan.EndMillis.
	Even
)

// Plan is a campaign's current budget period, cut by the campaign's own start and end. The caller fills it for each
// tick from the replicated state. Tick compares it with the plan of the last tick: another Period starts a new period,
// another Budget or Carry in the same period is an edit, which changes the aggressiveness at once by half the logarithm
// of the change of what is left.
type Plan struct {
	Budget money.Micros // Budget of the period, 0 to money.MaxMicros. Not read when Mode is Unlimited.
	Carry  money.Micros // Unspent amount of earlier periods that may be spent in this one as well.
	Spent  money.Micros // Billed in this period.

	// Period is the number of the period as the ledger counts it (command.Periods), 0 for a total budget. The first
	// tick of another number starts a period: spent amounts and traffic are counted from 0; the hold stays, because ads
	// of the old period are charged to the new one when they are clicked.
	Period uint32
	// StartMillis and EndMillis bound the time in which the budget is spent, in Unix milliseconds: the period's local
	// bounds (Bounds), or the campaign's own start and end where they lie inside. The budget is not reduced when they
	// do. They are not read unless Mode is Even. An end at or before the start makes a plan of which all traffic is
	// over.
	StartMillis, EndMillis int64
	// DayStartMillis and DayEndMillis bound the current local day (Bounds). When they are set (end after start), at
	// most twice the day's share of the budget is spent in the day. They are set for weekly, monthly and even total
	// budgets, and both 0 otherwise.
	DayStartMillis, DayEndMillis int64

	// Ceiling is the largest factor of the bids in units of 1/2^31, which a target return sets (Returns.Factor); 0: no
	// ceiling. The smaller of the two factors counts, because a product of them would correct the same error twice.
	Ceiling uint32

	Mode Mode
	// Paused says that the campaign cannot win for another reason than its budget: it is paused, not active yet, over, or
	// its schedule has no bid in this hour (which its curve should know: Weights.During). Its hold decays, its
	// aggressiveness is kept, and nothing is learned from its not spending.
	Paused bool
	// WalletEmpty says that the wallet has nothing left for the campaign. It acts like Paused and shows in the status.
	WalletEmpty bool
}

// cap returns what may be billed in the period.
func (p *Plan) cap() money.Micros {
	sum, ok := money.Add(max(p.Budget, 0), max(p.Carry, 0))
	if !ok {
		return money.MaxMicros
	}
	return sum
}

// active reports whether the campaign can win, as far as pacing is concerned.
func (p *Plan) active() bool { return !p.Paused && !p.WalletEmpty }
