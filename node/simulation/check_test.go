package simulation_test

import (
	"context"
	"math"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// check compares every replica with the history. REQUIRES: all faults are healed and no client waits.
func (w *environment) check() {
	w.stopClocks()
	var level bool
	for range 30 { // The cluster itself compares digests now and then, which adds an entry.
		if level = w.caughtUp(); level {
			break
		}
		time.Sleep(time.Second)
	}
	if !level {
		w.reportLagging()
	}
	for _, i := range w.members() {
		store, _, _ := w.running(i)
		if store == nil {
			w.t.Errorf("node %d is not up", i)
			continue
		}
		for _, h := range w.groups {
			_ = store.Group(h.group).Read(func(r raftstore.Reader) error { // It fails only if the store is closed.
				b := shard.Queries{R: r}
				if err := b.Verify(); err != nil {
					w.t.Errorf("node %d, group %d: %v", i, h.group, err)
				}
				h.checkReplica(i, b)
				w.checkSlots(i, h, b)
				return nil
			})
		}
		w.transfers.checkNode(i)
	}
}

// stopClocks ends the ticks of all nodes, so that their states can be compared.
func (w *environment) stopClocks() {
	for _, n := range w.nodes {
		n.mu.Lock()
		cl := n.cluster
		n.mu.Unlock()
		if cl != nil {
			cl.Close()
		}
	}
}

// caughtUp waits until every member has caught up, and reports whether all are at the same entry of every group.
func (w *environment) caughtUp() bool {
	for _, id := range w.raftGroups() {
		if !w.caughtUpIn(id) {
			return false
		}
	}
	return true
}

func (w *environment) caughtUpIn(id uint16) bool {
	var first raftstore.GroupStatus
	for _, i := range w.members() {
		store, _, _ := w.running(i)
		if store == nil {
			return false
		}
		g := store.Group(id)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := g.ReadBarrier(ctx)
		cancel()
		if err != nil {
			return false
		}
		s := g.Status()
		if h := w.groupOf(id); h != nil {
			h.digest(i, s.Applied, s.Digest)
		}
		if first.Applied == 0 {
			first = s
		}
		if s.Applied != first.Applied {
			return false
		}
		if s.Digest != first.Digest {
			w.t.Errorf("node %d, group %d: the digest at entry %d is %016x, elsewhere it is %016x", i, id, s.Applied, s.Digest, first.Digest)
		}
	}
	return true
}

// checkReplica compares the state of one node with everything that was attempted and answered.
func (h *history) checkReplica(node int, b shard.Queries) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []ledger.Line
	b.Journal(1, func(l *ledger.Line) bool { lines = append(lines, *l); return true })
	h.extend(node, lowerBound{lines: len(h.seen), at: time.Now()}, lines)
	h.checkJournal(node, b, lines)
	h.checkCounters(node, nil, b.NoCampaignCounters(marketplace, 0, math.MaxUint32))
	for _, x := range h.campaigns {
		h.checkCampaign(node, b, x)
	}
}

// checkJournal checks the lines of a journal and sums them up independently of the state machine. Every line must be a client's
// attempt. A token and a deposit have one line each, a transfer its sides (transferHistory). No prepaid wallet may be below
// zero after any line. No campaign may spend more than its budget: for a total budget, what its manager asked for; for all
// budgets, what the journal records, from the feature level on at which it does.
func (h *history) checkJournal(node int, b shard.Queries, lines []ledger.Line) {
	fail := func(l *ledger.Line, format string, args ...any) {
		h.t.Errorf("node %d, group %d, line %d: "+format, append([]any{node, h.group, l.Seq}, args...)...)
	}
	balances, spent := map[ids.UUID]money.Micros{}, map[*campaign]money.Micros{}
	once, inForce := map[[16]byte]money.Micros{}, map[uint32]ledger.Line{}
	for i := range lines {
		l := &lines[i]
		if l.Kind == ledger.BudgetInForce || l.Kind == ledger.BillingMode {
			inForce[l.Campaign] = *l
			continue
		}
		if isMove(l.Kind) {
			if balances[l.Wallet] += l.Amount; balances[l.Wallet] < 0 {
				fail(l, "the transfer overdraws the account: %d", balances[l.Wallet])
			}
			h.transfers.recordLine(node, h.group, l)
			continue
		}
		if _, twice := once[l.Key]; twice {
			fail(l, "%x has a second line", l.Key[:4])
		}
		once[l.Key] = l.Amount
		if l.Kind == ledger.Adjustment {
			d := h.deposits[l.Key]
			if d == nil || d.amount != l.Amount || h.wallet(d.vendor) != l.Wallet {
				fail(l, "nobody asked for %+v", l)
				continue
			}
			balances[l.Wallet] += l.Amount
		} else {
			k := h.tokens[l.Key]
			if k == nil || k.price != l.Price || k.campaign.ordinal != l.Campaign || h.wallet(k.campaign.vendor) != l.Wallet {
				fail(l, "nobody reported %+v", l)
				continue
			}
			balances[l.Wallet] -= l.Amount
			spent[k.campaign] += l.Amount
			if period, known := inForce[l.Campaign]; known {
				if period.Amount += l.Amount; l.Amount > 0 && period.Price > 0 && period.Amount > period.Price {
					fail(l, "campaign %d spent %d of %d in the period", l.Campaign, period.Amount, period.Price)
				}
				inForce[l.Campaign] = period
			}
			if most := k.campaign.most(i); l.Amount > 0 && k.campaign.total && spent[k.campaign] > most {
				fail(l, "campaign %d spent %d of a budget of %d", l.Campaign, spent[k.campaign], most)
			}
		}
		if l.Kind != ledger.Adjustment && (l.Amount < 0 || l.Amount > l.Price) {
			fail(l, "%d is charged of %d", l.Amount, l.Price)
		}
		if balances[l.Wallet] < 0 {
			fail(l, "the wallet is overdrawn: %d", balances[l.Wallet])
		}
	}
	for id, want := range balances {
		if got, _ := b.Wallet(id); got.Balance != want {
			h.t.Errorf("node %d: account %s has %d, its lines sum up to %d", node, id, got.Balance, want)
		}
	}
	for key, d := range h.deposits {
		if _, there := once[key]; d.done && !there {
			h.t.Errorf("node %d: LOST: %d for %s was acknowledged", node, d.amount, h.vendors[d.vendor])
		}
	}
	for key, k := range h.tokens {
		charged, there := once[key]
		if k.decided != nil && (!there || charged != k.decided.Charged) {
			h.t.Errorf("node %d: LOST: token %x was charged %d according to an answer, %d in the journal (%v)", node, key[:4], k.decided.Charged, charged, there)
		}
		if k.alreadyCharged && !there {
			h.t.Errorf("node %d: token %x was charged before according to an answer, and is not in the journal", node, key[:4])
		}
	}
}

// most returns the largest budget that may have been in force at a line.
func (x *campaign) most(line int) (amount money.Micros) {
	for _, b := range x.budgets {
		if b.after <= line && (b.until == 0 || line < b.until) {
			amount = max(amount, b.amount)
		}
	}
	return amount
}

// checkCounters compares the counters of a campaign, or of events without one, with the event ids that were recorded.
func (h *history) checkCounters(node int, x *campaign, got rollup.Counters) {
	var sure, maybe [event.Kinds]int64
	for _, s := range h.events {
		switch {
		case (s.token == nil) != (x == nil) || x != nil && s.token.campaign != x:
		case s.sure:
			sure[s.record.Kind]++
		default:
			maybe[s.record.Kind]++
		}
	}
	for kind, n := range [event.Kinds]int64{got.Impressions, got.Clicks, got.Purchases, got.Pageviews} {
		if n < sure[kind] || n > sure[kind]+maybe[kind] {
			h.t.Errorf("node %d: %d %s are counted for campaign %+v, acknowledged were %d, and %d have no effect or no answer",
				node, n, event.Kind(kind), x, sure[kind], maybe[kind])
		}
	}
}

// checkCampaign checks the counters, the budget and the bids of a campaign.
func (h *history) checkCampaign(node int, b shard.Queries, x *campaign) {
	h.checkCounters(node, x, b.CampaignCounters(x.id, 0, math.MaxUint32))
	s, _ := b.Campaign(x.id)
	possible := false
	for i, budget := range x.budgets {
		possible = possible || budget.amount == s.Money.Amount && (i == len(x.budgets)-1 || budget.until == 0)
	}
	if !possible {
		h.t.Errorf("node %d: campaign %d has a budget of %d of %+v", node, x.ordinal, s.Money.Amount, x.budgets)
	}
	if s.Money.Spent > s.Money.SpentTotal || s.Money.SpentTotal < x.acked {
		h.t.Errorf("node %d: campaign %d spent %+v, answers said %d", node, x.ordinal, s.Money, x.acked)
	}
	for id := range x.bids {
		if _, bid, found := b.Bid(id); !found || bid.Deleted {
			h.t.Errorf("node %d: LOST: bid %s of campaign %d", node, id, x.ordinal)
		}
	}
}

// checkSlots compares the balances that the auctions of a node see with its ledger.
func (w *environment) checkSlots(node int, h *history, b shard.Queries) {
	n := w.nodes[node]
	n.mu.Lock()
	f := n.feeds[h.group]
	n.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range h.campaigns {
		s, _ := b.Campaign(x.id)
		wallet, _ := b.Wallet(h.wallet(x.vendor))
		slot := f.slots[x.id]
		if slot == nil || slot.BudgetLeft.Load() != int64(max(0, s.Money.Amount-s.Money.Spent)) || slot.WalletBalance.Load() != int64(wallet.Balance) {
			w.t.Errorf("node %d: auctions see something else than %+v and %d of campaign %d", node, s.Money, wallet.Balance, x.ordinal)
		}
	}
}
