package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// The check for linearizability asks whether there is one order of charges, budget changes, payments and reads that respects their times and
// explains every read. porcupine searches for it. Two measures keep the search short. The first leaves the result exact; the second may
// miss a violation, and never reports one that is none.
//
// Chains. Nearly all charges of one campaign have the same price, so they are interchangeable: of two such charges, one of which was
// both called and finished no later than the other, an order that explains the reads exists if and only if one exists
// with that one first (swap them). Charges are therefore put into chains in which calls and finishes both ascend, and
// the model takes the charges of a chain in order. Without that, k charges of unknown outcome mean 2^k sets to try; with it,
// the product of the lengths of a few chains.
//
// Epochs. A read that overlaps no other operation shows the whole state. There the history is cut, and the next part
// begins with what was read. An operation that never returned is in all later parts, where it may still happen. Whether it took effect
// before the cut is not known. If it did, a later part may let it happen once more and explain one effect that should not be there, so
// with such operations the check is weaker than without cuts. It never reports a violation that is none, because such an operation may
// always happen last, after every read.

// chainsMax is how many chains a part has. BOUND: the size of a state. Charges beyond it are taken in any order, which is as exact but
// slower.
const chainsMax = 24

// epochMin is the least number of operations of a part, but for the last part.
const epochMin = 1_000

// input is an operation of the model.
type input struct {
	kind     opKind
	amount   shop.Micros
	chain    int   // The chain of a charge; -1: none.
	position int32 // The position of a charge in its chain.
	unknown  bool  // A payment of unknown outcome.
}

// opKind is a kind of operation of the model.
type opKind uint8

const (
	chargeOf    opKind = iota
	setLimit           // A new budget of the campaign.
	pay                // A deposit or a burn.
	refusedBurn        // A burn that was refused because the balance was too small.
	read
)

// account is a state of the model. For a campaign it is how much is used of which budget (limit), for a wallet how much was charged (used) of
// all that was put in (limit). A charge takes what is left and at most its price; that rule is the same for both.
type account struct {
	used, limit shop.Micros
	chains      [chainsMax]int32 // How many charges of each chain have happened.
}

// observed is what a read returned.
type observed struct {
	used, limit shop.Micros
	balance     bool // Only the difference of limit and used was read, as a wallet shows it.
}

// step is the transition function of the model. REQUIRES: amounts of burns are negative.
func step(state, in, out any) (bool, any) {
	a, op := state.(account), in.(input)
	switch op.kind {
	case chargeOf:
		if op.chain >= 0 {
			if a.chains[op.chain] != op.position {
				return false, a
			}
			a.chains[op.chain]++
		}
		a.used += min(op.amount, max(a.limit-a.used, 0))
	case setLimit:
		a.limit = op.amount
	case pay:
		if a.limit+op.amount < a.used {
			return op.unknown, a // A burn of unknown outcome has no effect when the balance is too small.
		}
		a.limit += op.amount
	case refusedBurn:
		return a.limit+op.amount < a.used, a
	case read:
		saw := out.(observed)
		if saw.balance {
			return a.limit-a.used == saw.limit-saw.used, a
		}
		return a.used == saw.used && a.limit == saw.limit, a
	}
	return true, a
}

// Linearizable checks every campaign with a budget for its life and an ample wallet, but for those that pay for purchases, which are charged
// some time after the answer, and every wallet that is not ample and whose campaigns have one price. SearchMax bounds each search; a part
// whose search takes longer is undecided, which the note says, and does not count as checked.
func Linearizable(h *history.History, searchMax time.Duration) Result {
	v := Result{Check: "linearizable, by campaign and wallet"}
	of := charges(h)
	parts, undecided := 0, 0
	decide := func(name string, start account, ops []porcupine.Operation) {
		for _, part := range epochs(start, ops) {
			parts++
			switch search(part, searchMax) {
			case porcupine.Ok:
				v.Checked += len(part.ops)
			case porcupine.Illegal:
				v.Checked += len(part.ops)
				v.AddViolation("%s: no order explains the %d operations from %v to %v", name, len(part.ops), time.Duration(part.ops[0].Call), part.end())
			case porcupine.Unknown:
				undecided++
			}
		}
	}
	for _, c := range h.Campaigns() {
		if c.Vendor.Ample && !c.Daily && c.Charge != history.Purchase {
			decide("campaign "+c.Name, account{limit: c.Budget}, campaignHistory(h, c, of[c]))
		}
	}
	for _, vendor := range h.Vendors {
		if onePrice(vendor) && !vendor.Ample {
			decide("wallet of "+vendor.ID, account{limit: vendor.Deposit}, walletHistory(h, vendor, of))
		}
	}
	v.Note = fmt.Sprintf("%d parts, %d undecided", parts, undecided)
	return v
}

// onePrice reports whether all campaigns of a vendor have the same price.
func onePrice(v *history.Vendor) bool {
	for _, c := range v.Campaigns {
		if c.Price != v.Campaigns[0].Price {
			return false
		}
	}
	return true
}

func operation(in input, out any, call, finish history.Instant) porcupine.Operation {
	return porcupine.Operation{Input: in, Output: out, Call: int64(call), Return: int64(finish)}
}

func chargeHistory(all []*charge) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, c := range all {
		ops = append(ops, operation(input{kind: chargeOf, amount: c.token.Price, chain: -1}, nil, c.call, c.finish))
	}
	return ops
}

func campaignHistory(h *history.History, c *history.Campaign, all []*charge) []porcupine.Operation {
	ops := chargeHistory(all)
	for _, change := range h.Changes {
		if change.Campaign == c && change.Outcome != history.Refused {
			finish := change.Return
			if change.Outcome == history.Unknown {
				finish = history.Never
			}
			ops = append(ops, operation(input{kind: setLimit, amount: change.Amount}, nil, change.Invoke, finish))
		}
	}
	for _, r := range h.Budgets {
		if r.Campaign == c {
			ops = append(ops, operation(input{kind: read}, observed{used: r.Used, limit: r.Amount}, r.Invoke, r.Return))
		}
	}
	return ops
}

func walletHistory(h *history.History, vendor *history.Vendor, of map[*history.Campaign][]*charge) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, c := range vendor.Campaigns {
		ops = append(ops, chargeHistory(of[c])...)
	}
	for _, p := range h.Payments {
		if p.Vendor != vendor {
			continue
		}
		switch {
		case p.Outcome == history.OK:
			ops = append(ops, operation(input{kind: pay, amount: p.Amount}, nil, p.Invoke, p.Return))
		case p.Outcome == history.Refused && !p.Doubtful:
			ops = append(ops, operation(input{kind: refusedBurn, amount: p.Amount}, nil, p.Invoke, p.Return))
		default:
			ops = append(ops, operation(input{kind: pay, amount: p.Amount, unknown: true}, nil, p.Invoke, history.Never))
		}
	}
	for _, r := range h.Wallets {
		if r.Vendor == vendor {
			ops = append(ops, operation(input{kind: read}, observed{limit: r.Balance, balance: true}, r.Invoke, r.Return))
		}
	}
	return ops
}

// epoch is a part of a history and the state before it.
type epoch struct {
	start account
	ops   []porcupine.Operation
}

// end is when the last operation of the part returned that returned at all.
func (e *epoch) end() time.Duration {
	end := int64(0)
	for _, op := range e.ops {
		if op.Return != int64(history.Never) {
			end = max(end, op.Return)
		}
	}
	return time.Duration(end)
}

// epochs cuts a history after reads that overlap no operation that ever returned.
func epochs(start account, ops []porcupine.Operation) []epoch {
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var parts []epoch
	part := epoch{start: start}
	var open []porcupine.Operation // The operations that never returned.
	latest := int64(math.MinInt64)
	for i, op := range ops {
		part.ops = append(part.ops, op)
		if op.Return == int64(history.Never) {
			open = append(open, op)
			continue
		}
		in := op.Input.(input)
		alone := op.Call > latest && (i+1 == len(ops) || ops[i+1].Call > op.Return)
		latest = max(latest, op.Return)
		if in.kind != read || !alone || len(part.ops) < epochMin+len(open) {
			continue
		}
		parts = append(parts, part)
		saw := op.Output.(observed)
		part = epoch{start: account{used: saw.used, limit: saw.limit}, ops: slices.Clone(open)}
	}
	if len(part.ops) > len(open) || len(parts) == 0 && len(part.ops) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// search searches for a linearization of a part, for at most searchMax.
func search(part epoch, searchMax time.Duration) porcupine.CheckResult {
	chain(part.ops)
	model := porcupine.Model{Init: func() any { return part.start }, Step: step}
	return porcupine.CheckOperationsTimeout(model, part.ops, searchMax)
}

// chain puts the charges of a part that have the largest price into chains. REQUIRES: the operations are sorted by their call.
func chain(ops []porcupine.Operation) {
	var ends [chainsMax]int64
	var lengths [chainsMax]int32
	used, price := 0, shop.Micros(0)
	for i := range ops {
		if in := ops[i].Input.(input); in.kind == chargeOf {
			price = max(price, in.amount)
		}
	}
	for i := range ops {
		in := ops[i].Input.(input)
		if in.kind != chargeOf || in.amount < price {
			continue
		}
		best := -1 // The chain with the latest end that is not after this charge's, which leaves the others for later charges.
		for c := range used {
			if ends[c] <= ops[i].Return && (best < 0 || ends[c] > ends[best]) {
				best = c
			}
		}
		if best < 0 && used < chainsMax {
			best = used
			used++
		}
		if in.chain = best; best >= 0 {
			in.position = lengths[best]
			lengths[best]++
			ends[best] = ops[i].Return
		}
		ops[i].Input = in
	}
}
