package shard

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// ErrUnbalanced is wrapped by the errors of Queries.Verify about money.
var ErrUnbalanced = errors.New("shard: the ledger does not balance")

// Verify recomputes every balance from the journal and compares it with the stored one: the hash chain of the lines,
// the budgets and counters of campaigns, the wallets, and the dedup keys of charges that are still remembered. It reads
// the whole state, so its duration grows with the state. It returns the first difference, wrapped in ErrUnbalanced. It
// also checks that what was learned is consistent, and returns a difference wrapped in ErrLearned.
func (b Queries) Verify() error {
	a := verifier{
		b: b, spent: make(map[uint32]money.Micros), clipped: make(map[uint32]money.Micros), walletSpent: make(map[ids.UUID]money.Micros),
		deposited: make(map[ids.UUID]money.Micros), decided: make(map[[16]byte]ledger.Line),
		reversals: newReversalChecks(), budgets: make(map[uint32]ledger.Budget), carries: carryChecks{months: make(map[uint32]uint32)}, moved: make(map[ids.UUID]money.Micros), legs: make(map[leg]bool),
	}
	for _, check := range []func() error{
		a.verifyJournal, a.verifyReversals, a.verifyCampaigns, a.verifyWallets, a.verifyDecisions, b.verifyCounters, b.verifyReturns,
	} {
		if err := check(); err != nil {
			return fmt.Errorf("%w: %w", ErrUnbalanced, err)
		}
	}
	if err := b.verifyClickRates(); err != nil {
		return err
	}
	return b.verifyPurchases()
}

type verifier struct {
	b           Queries
	spent       map[uint32]money.Micros // Charged and not reversed, by campaign.
	clipped     map[uint32]money.Micros // Not charged, by campaign.
	walletSpent map[ids.UUID]money.Micros
	deposited   map[ids.UUID]money.Micros
	moved       map[ids.UUID]money.Micros // Transferred, by account.
	legs        map[leg]bool
	pendingLeg  ledger.Line              // The first leg of a transfer whose second leg must be the next line; zero otherwise.
	decided     map[[16]byte]ledger.Line // The charge decisions, by charge key.
	budgets     map[uint32]ledger.Budget // The budgets in force, by campaign, as far as the journal records them.
	carries     carryChecks
	reversals   reversalChecks
}

// leg names one side of a transfer.
type leg struct {
	transfer [16]byte
	kind     ledger.LineKind
	pays     bool
}

func (a *verifier) verifyJournal() (err error) {
	var seq uint64
	var chain ledger.Chain
	a.b.Journal(0, func(l *ledger.Line) bool {
		seq++
		switch {
		case l.Seq != seq:
			err = fmt.Errorf("line %d is missing", seq)
		case ledger.Next(chain, l) != l.Chain:
			err = fmt.Errorf("line %d does not continue the hash chain", seq)
		default:
			err = a.verifyLine(l)
		}
		chain = l.Chain
		return err == nil
	})
	if err == nil && a.pendingLeg.Seq != 0 {
		err = fmt.Errorf("line %d is one side of a transfer, and the next line is not its other side", a.pendingLeg.Seq)
	}
	if s := a.b.state(); err == nil && (s.lastLine != seq || s.chain != chain) {
		err = fmt.Errorf("the last journal line is %d, the state record says %d", seq, s.lastLine)
	}
	return err
}

func (a *verifier) verifyLine(l *ledger.Line) error {
	if a.pendingLeg.Seq != 0 && (l.Kind != ledger.TransferLeg || l.Key != a.pendingLeg.Key || l.Amount != -a.pendingLeg.Amount) {
		return fmt.Errorf("line %d is one side of a transfer, and the next line is not its other side", a.pendingLeg.Seq)
	}
	switch l.Kind {
	case ledger.TransferLeg, ledger.TransferSent, ledger.TransferReceived, ledger.TransferReturned:
		return a.verifyMove(l)
	case ledger.Adjustment:
		a.deposited[l.Wallet] += l.Amount
		return nil
	case ledger.BudgetInForce:
		a.carries.replaced, a.carries.after = a.budgets[l.Campaign], l.Seq
		a.budgets[l.Campaign] = ledger.Budget{Amount: l.Price, Period: l.Bid, Spent: l.Amount, FirstLine: a.periodBegan(l)}
		return nil
	case ledger.BudgetCarried:
		return a.verifyCarried(l)
	case ledger.BillingMode:
		return nil
	case ledger.ClickReversal, ledger.ImpressionReversal, ledger.PurchaseReversal:
		return a.verifyReversal(l)
	case ledger.ClickCharge, ledger.ImpressionCharge, ledger.PurchaseCharge:
	}
	if _, twice := a.decided[l.Key]; twice {
		return fmt.Errorf("line %d repeats the decision on a charge key", l.Seq)
	}
	if l.Amount < 0 || l.Amount > l.Price {
		return fmt.Errorf("line %d charges %d of a price of %d", l.Seq, l.Amount, l.Price)
	}
	b, known := a.budgets[l.Campaign]
	if !known {
		return fmt.Errorf("line %d charges campaign %d, whose budget no line before it says", l.Seq, l.Campaign)
	}
	if left, limited := b.Left(); limited && l.Amount > left {
		return fmt.Errorf("line %d charges %d of a budget that has %d left", l.Seq, l.Amount, left)
	}
	b.Spent += l.Amount
	a.budgets[l.Campaign] = b
	a.decided[l.Key] = *l
	a.spent[l.Campaign] += l.Amount
	a.clipped[l.Campaign] += min(l.Price-l.Amount, money.MaxMicros-a.clipped[l.Campaign])
	a.walletSpent[l.Wallet] += l.Amount
	return nil
}

// verifyMove checks and adds one side of a transfer. For a transfer between two groups this journal holds one side
// only; the other side is in the journal of the other group.
func (a *verifier) verifyMove(l *ledger.Line) error {
	side := leg{l.Key, l.Kind, l.Amount < 0}
	switch {
	case a.legs[side]:
		return fmt.Errorf("line %d repeats a side of a transfer", l.Seq)
	case l.Amount != l.Price && l.Amount != -l.Price || l.Price <= 0:
		return fmt.Errorf("line %d moves %d for a transfer of %d", l.Seq, l.Amount, l.Price)
	case l.Kind == ledger.TransferReturned && !a.legs[leg{l.Key, ledger.TransferSent, true}]:
		return fmt.Errorf("line %d returns a transfer that was not sent", l.Seq)
	}
	a.legs[side] = true
	a.moved[l.Wallet] += l.Amount
	if l.Kind == ledger.TransferLeg && a.pendingLeg.Seq == 0 {
		a.pendingLeg = *l
	} else {
		a.pendingLeg = ledger.Line{}
	}
	return nil
}

func (a *verifier) verifyCampaigns() (err error) {
	var last uint32
	for ordinal := uint32(1); err == nil; ordinal++ {
		c, found := a.b.CampaignByOrdinal(ordinal)
		if !found {
			break
		}
		last = ordinal
		counted := a.b.CampaignCounters(c.ID, 0, ^uint32(0))
		switch reported := counted.Spent(); {
		case c.Money.SpentTotal != a.spent[ordinal]:
			err = fmt.Errorf("campaign %s spent %d, its journal lines sum to %d", c.ID, c.Money.SpentTotal, a.spent[ordinal])
		case c.Money.Carried != a.budgets[ordinal].Carried || c.Money.Carries() != a.budgets[ordinal].Carries():
			err = fmt.Errorf("campaign %s carries over %d, its journal says %d", c.ID, c.Money.Carried, a.budgets[ordinal].Carried)
		case c.Money.Spent < 0 || c.Money.Spent > c.Money.SpentTotal:
			err = fmt.Errorf("campaign %s spent %d in this period, and %d in all periods", c.ID, c.Money.Spent, c.Money.SpentTotal)
		case reported != c.Money.SpentTotal:
			err = fmt.Errorf("campaign %s spent %d, its report counters sum to %d", c.ID, c.Money.SpentTotal, reported)
		default:
			err = a.verifyOverdelivery(ordinal, &c, &counted)
		}
	}
	if s := a.b.state(); err == nil && last != s.lastCampaign {
		err = fmt.Errorf("the last campaign has ordinal %d, the state record says %d", last, s.lastCampaign)
	}
	return err
}

// verifyOverdelivery compares what a campaign delivered and could not charge with its report counters, and with the
// journal, which also has what was not charged before command.LevelPacing.
func (a *verifier) verifyOverdelivery(ordinal uint32, c *CampaignState, counted *rollup.Counters) error {
	switch total := c.Money.OverdeliveredTotal; {
	case c.Money.Overdelivered < 0 || c.Money.Overdelivered > total:
		return fmt.Errorf("campaign %s delivered %d too much in this period, and %d in all periods", c.ID, c.Money.Overdelivered, total)
	case counted.Overdelivery != total:
		return fmt.Errorf("campaign %s delivered %d too much, its report counters sum to %d", c.ID, total, counted.Overdelivery)
	case total > a.clipped[ordinal]:
		return fmt.Errorf("campaign %s delivered %d too much, its journal lines sum to %d", c.ID, total, a.clipped[ordinal])
	}
	return nil
}

func (a *verifier) verifyWallets() (err error) {
	a.b.R.Scan([]byte{tableWallet}, []byte{tableWallet + 1}, func(key, value []byte) bool {
		w := must(readWallet(ids.UUID(key[1:]), value))
		switch {
		case w.Balance != w.Deposited+w.Transferred-w.Spent:
			err = fmt.Errorf("wallet %s: balance %d is not deposited %d + transferred %d - spent %d", w.ID, w.Balance, w.Deposited,
				w.Transferred, w.Spent)
		case w.Transferred != a.moved[w.ID]:
			err = fmt.Errorf("wallet %s: transferred %d, its journal lines sum to %d", w.ID, w.Transferred, a.moved[w.ID])
		case w.Deposited != a.deposited[w.ID] || w.Spent != a.walletSpent[w.ID]:
			err = fmt.Errorf("wallet %s: deposited %d and spent %d, its journal lines sum to %d and %d", w.ID, w.Deposited, w.Spent,
				a.deposited[w.ID], a.walletSpent[w.ID])
		}
		return err == nil
	})
	return err
}

// verifyDecisions compares the remembered charge keys with the journal. The opposite comparison is impossible: the key
// of a journal line may have been dropped after its charge window.
func (a *verifier) verifyDecisions() (err error) {
	from, to := []byte{tableDedup, byte(classClick)}, []byte{tableDedup, byte(classPurchase) + 1}
	a.b.R.Scan(from, to, func(key, value []byte) bool {
		if class(key[1]) == classReceived {
			return true
		}
		l, found := a.decided[[16]byte(key[6:])]
		switch d := readDecision(value); {
		case !found:
			err = fmt.Errorf("charge key %x has no journal line", key[6:])
		case d.Charged != l.Amount:
			err = fmt.Errorf("charge key %x: charged %d, line %d says %d", key[6:], d.Charged, l.Seq, l.Amount)
		}
		return err == nil
	})
	return err
}

func readDecision(b []byte) command.EventResult {
	charged, _ := binary.Uvarint(b[1:])
	return command.EventResult{Outcome: command.Outcome(b[0]), Charged: money.Micros(charged)} // Written from a Micros.
}
