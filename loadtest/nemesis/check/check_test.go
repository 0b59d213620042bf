package check_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

const (
	minor = shop.MinorUnit
	milli = time.Millisecond
)

// market has one vendor with ample money, whose campaigns have one budget that never runs out and one that does, and one vendor with little
// money and two campaigns.
func market() *history.History {
	h := history.New()
	rich := &history.Vendor{Index: 0, ID: "rich", Deposit: 1_000_000 * minor, Ample: true}
	poor := &history.Vendor{Index: 1, ID: "poor", Deposit: 3_333 * minor}
	for i, c := range []*history.Campaign{
		{Name: "ample", Vendor: rich, Price: 7 * minor, Charge: history.Click, Budget: 900_000 * minor},
		{Name: "tight", Vendor: rich, Price: 30 * minor, Charge: history.Impression, Budget: 1_000 * minor},
		{Name: "left", Vendor: poor, Price: 50 * minor, Charge: history.Click, Budget: 900_000 * minor},
		{Name: "right", Vendor: poor, Price: 50 * minor, Charge: history.Click, Budget: 900_000 * minor},
	} {
		c.Index, c.ID = i, c.Name
		c.Vendor.Campaigns = append(c.Vendor.Campaigns, c)
	}
	h.Vendors = []*history.Vendor{rich, poor}
	return h
}

// honest simulates a correct node, operation by operation, and clients that see each operation within an interval around the moment when it
// happened.
type honest struct {
	h       *history.History
	r       *rand.Rand
	now     history.Instant
	charged map[*history.Token]bool
	seen    map[string]bool
	used    map[*history.Campaign]shop.Micros
	limit   map[*history.Campaign]shop.Micros
	wallet  map[*history.Vendor]shop.Micros
	final   *check.FinalState
	old     []*history.Token
}

func simulate(seed uint64, steps int) (*history.History, *check.FinalState) {
	s := &honest{
		h: market(), r: rand.New(rand.NewPCG(seed, 1)), charged: map[*history.Token]bool{}, seen: map[string]bool{},
		used: map[*history.Campaign]shop.Micros{}, limit: map[*history.Campaign]shop.Micros{}, wallet: map[*history.Vendor]shop.Micros{},
		final: &check.FinalState{
			Reports: map[*history.Campaign]history.ReportRead{}, Budgets: map[*history.Campaign]history.BudgetRead{},
			Balances: map[*history.Vendor]shop.Micros{},
		},
	}
	for _, v := range s.h.Vendors {
		s.wallet[v] = v.Deposit
	}
	for _, c := range s.h.Campaigns() {
		s.limit[c] = c.Budget
		s.final.Reports[c] = history.ReportRead{Campaign: c}
	}
	for i := range steps {
		s.now += time.Duration(1+s.r.IntN(10)) * milli
		s.step(i)
	}
	s.now += time.Hour
	for _, c := range s.h.Campaigns() {
		s.final.Budgets[c] = s.budget(c)
	}
	for _, v := range s.h.Vendors {
		s.final.Balances[v] = s.wallet[v]
	}
	return s.h, s.final
}

// around returns an interval that contains the current time. Sometimes it is long, as during an outage.
func (s *honest) around() (history.Instant, history.Instant) {
	width := 20 * milli
	if s.r.IntN(20) == 0 {
		width = 500 * milli
	}
	return s.now - time.Duration(s.r.Int64N(int64(width))), s.now + time.Duration(s.r.Int64N(int64(width)))
}

func (s *honest) step(i int) {
	invoke, finish := s.around()
	all := s.h.Campaigns()
	c := all[s.r.IntN(len(all))]
	switch p := s.r.IntN(20); {
	case p < 12:
		s.report(i, c, invoke, finish)
	case p < 15:
		r := s.budget(c)
		r.Invoke, r.Return = invoke, finish
		s.h.Budgets = append(s.h.Budgets, r)
		report := s.final.Reports[c]
		report.Invoke, report.Return = invoke, finish
		s.h.Reports = append(s.h.Reports, report)
	case p < 17:
		s.h.Wallets = append(s.h.Wallets, history.WalletRead{Vendor: c.Vendor, Invoke: invoke, Return: finish, Balance: s.wallet[c.Vendor]})
	case p == 17 && c.Name == "tight":
		s.limit[c] = shop.Micros(500+s.r.IntN(5_000)) * minor
		outcome := history.OK
		if s.r.IntN(3) == 0 {
			outcome, finish = history.Unknown, history.Never
		}
		s.h.Changes = append(s.h.Changes, history.Change{Campaign: c, Amount: s.limit[c], Invoke: invoke, Return: finish, Outcome: outcome})
	default:
		poor := s.h.Vendors[1]
		p := history.Payment{Vendor: poor, Amount: shop.Micros(s.r.IntN(1_000)-400) * minor, Invoke: invoke, Return: finish, Outcome: history.OK, Attempts: 1}
		if s.wallet[poor]+p.Amount < 0 {
			p.Outcome = history.Refused
		} else {
			s.wallet[poor] += p.Amount
		}
		s.h.Payments = append(s.h.Payments, p)
	}
}

func (s *honest) budget(c *history.Campaign) history.BudgetRead {
	return history.BudgetRead{Campaign: c, Amount: s.limit[c], Used: s.used[c], Remaining: max(s.limit[c]-s.used[c], 0)}
}

func (s *honest) report(i int, c *history.Campaign, invoke, finish history.Instant) {
	token := &history.Token{Text: fmt.Sprint("t", i), Campaign: c, Price: s.price(c), Invoke: invoke - milli, Return: invoke}
	if len(s.old) > 0 && s.r.IntN(5) == 0 {
		token = s.old[s.r.IntN(len(s.old))]
		c = token.Campaign
	}
	s.old = append(s.old, token)
	b := &history.Body{Number: i, Sent: invoke, Acked: finish, Attempts: 1}
	for array := range history.Purchase {
		e := &history.Event{Array: array, ID: fmt.Sprint("e", i-s.r.IntN(2)*s.r.IntN(2), token.Text), Token: token}
		b.Events = append(b.Events, e)
		s.take(c, e)
	}
	s.h.Bodies = append(s.h.Bodies, b)
}

// price is that of an ad that a campaign wins now: a bid above what is left of its budget competes with what is left.
func (s *honest) price(c *history.Campaign) shop.Micros {
	if left := s.limit[c] - s.used[c]; left > 0 {
		return min(left, c.Price)
	}
	return c.Price
}

func (s *honest) take(c *history.Campaign, e *history.Event) {
	key := fmt.Sprint(e.Array, e.ID)
	if s.seen[key] {
		return
	}
	s.seen[key] = true
	r := s.final.Reports[c]
	r.Total[e.Array]++
	if e.Array == c.Charge && !s.charged[e.Token] {
		s.charged[e.Token] = true
		r.Overdelivered += e.Token.Price
		amount := min(e.Token.Price, max(s.limit[c]-s.used[c], 0), s.wallet[c.Vendor])
		s.used[c] += amount
		s.wallet[c.Vendor] -= amount
		r.Spent[e.Array] += amount
		r.Overdelivered -= amount
		if amount > 0 {
			r.Charged[e.Array]++
		}
	}
	s.final.Reports[c] = r
}

func results(h *history.History, final *check.FinalState) []check.Result {
	return append(check.Writable(h, 3, bounds), []check.Result{
		check.Events(h, final), check.Unknown(h), check.Charges(h, final), check.Balances(h, final), check.Reads(h),
		check.Linearizable(h, 20*time.Second), check.Stale(h, 3*time.Second, 500*milli), check.Overdelivery(h, final, 3*time.Second, 500*milli), check.Serving(h), check.Full(h), check.Digests(h), check.Findings(h),
	}...)
}

func TestHonestHistoriesPass(t *testing.T) {
	for seed := range uint64(20) {
		h, final := simulate(seed, 1_500)
		for _, v := range results(h, final) {
			if v.Count > 0 {
				t.Errorf("seed %d: %s: %d faults\n%s", seed, v.Check, v.Count, strings.Join(v.Violations, "\n"))
			}
			if strings.Contains(v.Note, "undecided") && !strings.Contains(v.Note, " 0 undecided") {
				t.Errorf("seed %d: %s: %s", seed, v.Check, v.Note)
			}
		}
	}
}

func campaign(h *history.History, name string) *history.Campaign {
	for _, c := range h.Campaigns() {
		if c.Name == name {
			return c
		}
	}
	panic(name)
}

// Each fault is planted into an honest history; the checks named have to find it.
func TestPlantedFaultsAreFound(t *testing.T) {
	for name, plant := range map[string]struct {
		checks string // The beginnings of the names of the checks, separated by |.
		do     func(h *history.History, b *check.FinalState)
	}{
		"an event lost":       {"every", func(h *history.History, b *check.FinalState) { total(h, b, -1) }},
		"an event twice":      {"every", func(h *history.History, b *check.FinalState) { total(h, b, +1) }},
		"an event not known":  {"every", func(_ *history.History, b *check.FinalState) { b.Lost = []string{"clicks e1"} }},
		"a body unresolved":   {"unknown", func(h *history.History, _ *check.FinalState) { h.Bodies[7].Acked = history.Never }},
		"payment unresolved":  {"unknown", func(h *history.History, _ *check.FinalState) { h.Payments[3].Outcome = history.Unknown }},
		"a token twice":       {"each token|wallet =", func(h *history.History, b *check.FinalState) { pay(h, b, "ample", 1, 7*minor) }},
		"a charge lost":       {"each token|wallet =", func(h *history.History, b *check.FinalState) { pay(h, b, "ample", -1, -7*minor) }},
		"above its price":     {"each token|wallet =", func(h *history.History, b *check.FinalState) { pay(h, b, "ample", 0, 1) }},
		"a free event billed": {"each token", func(h *history.History, b *check.FinalState) { free(h, b) }},
		"wallet too full":     {"wallet =", func(h *history.History, b *check.FinalState) { b.Balances[h.Vendors[1]] += minor }},
		"wallet too empty":    {"wallet =", func(h *history.History, b *check.FinalState) { b.Balances[h.Vendors[0]]-- }},
		"a read of too much": {"budgets, reports|linearizable", func(h *history.History, _ *check.FinalState) {
			change(h, "ample", func(r *history.BudgetRead) { r.Used += 1_000 * 7 * minor; r.Remaining = r.Amount - r.Used })
		}},
		"a stale read": {"budgets, reports|linearizable", func(h *history.History, _ *check.FinalState) {
			change(h, "ample", func(r *history.BudgetRead) { r.Used -= 20 * 7 * minor; r.Remaining = r.Amount - r.Used })
		}},
		"one charge missing in a read": {"linearizable", func(h *history.History, _ *check.FinalState) {
			change(h, "ample", func(r *history.BudgetRead) { r.Used -= 100 * minor; r.Remaining = r.Amount - r.Used })
		}},
		"remaining does not add up": {"budgets, reports", func(h *history.History, _ *check.FinalState) {
			change(h, "tight", func(r *history.BudgetRead) { r.Remaining++ })
		}},
		"a budget nobody set": {"budgets, reports|linearizable", func(h *history.History, _ *check.FinalState) {
			change(h, "tight", func(r *history.BudgetRead) { r.Remaining += 1 << 40; r.Amount = r.Used + r.Remaining })
		}},
		"overspend": {"budgets, reports|linearizable", func(h *history.History, _ *check.FinalState) {
			change(h, "tight", func(r *history.BudgetRead) { r.Used, r.Remaining = 1<<40, 0 })
		}},
		"a wallet read below zero": {"budgets, reports|linearizable", func(h *history.History, _ *check.FinalState) {
			wallet(h, func(r *history.WalletRead) { r.Balance = -1 })
		}},
		"a charge not in the wallet": {"linearizable", func(h *history.History, _ *check.FinalState) {
			wallet(h, func(r *history.WalletRead) { r.Balance += 50 * minor })
		}},
		"a burn of what was not there": {"linearizable|wallet =", func(h *history.History, _ *check.FinalState) {
			h.Payments = append(h.Payments, history.Payment{
				Vendor: h.Vendors[1], Amount: -1 << 40, Invoke: time.Second, Return: time.Second + milli, Outcome: history.OK,
			})
		}},
		"a win without money": {"over-delivery", func(h *history.History, _ *check.FinalState) { winWithoutMoney(h) }},
		"over-delivery not counted": {"over-delivery", func(h *history.History, b *check.FinalState) {
			c := campaign(h, "tight")
			r := b.Reports[c]
			r.Overdelivered -= c.Price
			b.Reports[c] = r
		}},
		"replicas differ": {"equal state", func(h *history.History, _ *check.FinalState) {
			for i, d := range []string{"a", "b", "a"} {
				h.Digests = append(h.Digests, history.Digest{Node: fmt.Sprint("n", i+1), Group: "0", Index: 7, Digest: d})
			}
		}},
		"campaigns of a cut-off node": {"no campaign", func(h *history.History, _ *check.FinalState) {
			h.Isolated = []history.Span{{Node: 1, From: time.Second, Until: time.Minute}}
			h.Auctions = []history.Auction{{Node: 1, Invoke: 5 * time.Second, Return: 5 * time.Second, Status: 201, Winners: 1}}
		}},
		"an auction fails": {"auctions on", func(h *history.History, _ *check.FinalState) {
			h.Auctions = []history.Auction{{Node: 1, Invoke: time.Second, Return: time.Second, Status: 500}}
		}},
		"an auction fails on a full disk": {"auctions at", func(h *history.History, _ *check.FinalState) {
			h.Faults = []history.Fault{{Kind: "full-disk", Nodes: []int{1}, Begin: time.Second, Healed: time.Minute}}
			h.Auctions = []history.Auction{{Node: 1, Invoke: 2 * time.Second, Return: 2 * time.Second, Status: 503}}
		}},
		"a failover too slow": {"writes go on: killed", func(h *history.History, _ *check.FinalState) { outage(h, "kill", 5100*milli, 0) }},
		"one pause too long":  {"writes go on: paused", func(h *history.History, _ *check.FinalState) { outage(h, "pause", 10100*milli, 0) }},
		"a write given up":    {"writes go on: paused", func(h *history.History, _ *check.FinalState) { outage(h, "pause", history.Never, 2*time.Minute) }},
		"a process ends":      {"processes", func(h *history.History, _ *check.FinalState) { h.Finding("n1 exited with 2") }},
	} {
		h, final := simulate(3, 1_500)
		plant.do(h, final)
		found := map[string]bool{}
		for _, v := range results(h, final) {
			if v.Count > 0 {
				found[v.Check] = true
			}
		}
		for prefix := range strings.SplitSeq(plant.checks, "|") {
			seen := false
			for check := range found {
				seen = seen || strings.HasPrefix(check, prefix)
			}
			if !seen {
				t.Errorf("%s: not found by %q, only by %v", name, prefix, found)
			}
		}
	}
}

func total(h *history.History, b *check.FinalState, by int64) {
	c := campaign(h, "right")
	r := b.Reports[c]
	r.Total[history.Impression] += by
	b.Reports[c] = r
}

func pay(h *history.History, b *check.FinalState, name string, count int64, amount shop.Micros) {
	c := campaign(h, name)
	r := b.Reports[c]
	r.Charged[c.Charge] += count
	r.Spent[c.Charge] += amount
	b.Reports[c] = r
}

func free(h *history.History, b *check.FinalState) {
	c := campaign(h, "ample")
	r := b.Reports[c]
	r.Charged[history.Impression]++
	b.Reports[c] = r
}

// winWithoutMoney adds a read of a budget that is used up, and moves the auction of a token to 4 s after it.
func winWithoutMoney(h *history.History) {
	c := campaign(h, "tight")
	h.Changes = nil
	h.Budgets = append(h.Budgets, history.BudgetRead{Campaign: c, Invoke: time.Second, Return: time.Second + milli})
	for _, b := range h.Bodies {
		if t := b.Events[0].Token; t.Campaign == c {
			t.Invoke, t.Return = 5*time.Second, 5*time.Second+milli
			return
		}
	}
}

// change changes a budget read in the middle of the run.
func change(h *history.History, name string, do func(*history.BudgetRead)) {
	for i := len(h.Budgets) / 2; i < len(h.Budgets); i++ {
		if r := &h.Budgets[i]; r.Campaign.Name == name {
			do(r)
			return
		}
	}
}

func wallet(h *history.History, do func(*history.WalletRead)) {
	for i := len(h.Wallets) / 2; i < len(h.Wallets); i++ {
		if r := &h.Wallets[i]; !r.Vendor.Ample {
			do(r)
			return
		}
	}
}

// Auctions on a node that a fault has hit are not counted.
func TestServingLeavesOutWhatAFaultHit(t *testing.T) {
	h := history.New()
	h.Faults = []history.Fault{{Kind: "kill", Begin: time.Second, Healed: 2 * time.Second, Settled: 3 * time.Second, Alone: true}}
	h.Down = []history.Span{{Node: 0, From: time.Second, Until: 2 * time.Second}}
	h.Auctions = []history.Auction{
		{Node: 0, Invoke: 1500 * milli, Return: 1501 * milli},
		{Node: 0, Invoke: 900 * milli, Return: 1001 * milli}, // The fault began during the request.
		{Node: 1, Invoke: 1500 * milli, Return: 1501 * milli, Status: 201},
		{Node: 0, Invoke: 2500 * milli, Return: 2501 * milli, Status: 201},
	}
	if v := check.Serving(h); v.Count != 0 || v.Checked != 2 {
		t.Errorf("%+v", v)
	}
	if s := check.FailedAuctions(h)["kill"]; s != (check.Share{Asked: 2}) {
		t.Errorf("%+v", s)
	}
}

// Of fifty charges without an answer some happened. The search must not try every set of them, which would take years, so a bound of minutes
// tells the two apart on any machine.
func TestUnknownChargesAreSearchedQuickly(t *testing.T) {
	h, happened := market(), 20
	c := campaign(h, "ample")
	for i := range 50 {
		b := &history.Body{Number: i, Sent: time.Duration(i) * milli, Acked: history.Never}
		if i%3 == 0 {
			b.Acked = time.Minute + time.Duration(i*7%50)*time.Second
		}
		b.Events = []*history.Event{{Array: history.Click, ID: fmt.Sprint(i), Token: &history.Token{Campaign: c, Price: c.Price}}}
		h.Bodies = append(h.Bodies, b)
	}
	for i := range 10 {
		at := time.Second * time.Duration(i+1)
		used := shop.Micros(happened+i) * c.Price
		h.Budgets = append(h.Budgets, history.BudgetRead{Campaign: c, Invoke: at, Return: at + milli, Amount: c.Budget, Used: used, Remaining: c.Budget - used})
	}
	if v := check.Linearizable(h, 5*time.Minute); v.Count != 0 || !strings.HasSuffix(v.Note, " 0 undecided") {
		t.Errorf("%+v", v)
	}
	h.Budgets[9].Used -= 2 * c.Price // Less than the read before it.
	if v := check.Linearizable(h, 5*time.Minute); v.Count == 0 {
		t.Errorf("%+v", v)
	}
}

// A search that was given up has compared nothing. Forty charges that enclose each other have 2^40 sets, and none of them explains the read:
// no machine can try them all.
func TestUndecidedIsNotChecked(t *testing.T) {
	h := market()
	hard, easy := campaign(h, "ample"), campaign(h, "tight")
	for i := range 40 {
		b := &history.Body{Number: i, Sent: time.Duration(i) * milli, Acked: 10*time.Minute - time.Duration(i)*time.Second}
		b.Events = []*history.Event{{Array: history.Click, ID: fmt.Sprint(i), Token: &history.Token{Campaign: hard, Price: hard.Price}}}
		h.Bodies = append(h.Bodies, b)
	}
	h.Budgets = []history.BudgetRead{{Campaign: hard, Invoke: time.Second, Return: time.Second + milli, Amount: hard.Budget, Used: 1, Remaining: hard.Budget - 1}}
	v := check.Linearizable(h, 10*milli)
	if v.Checked != 0 || v.Count != 0 || v.Note != "1 parts, 1 undecided" {
		t.Errorf("%+v", v)
	}
	if v.RequireCompared(); v.Count != 1 {
		t.Errorf("a run in which nothing was decided passes: %+v", v)
	}
	h.Budgets = append(h.Budgets, history.BudgetRead{Campaign: easy, Invoke: 1, Return: 2, Amount: easy.Budget, Remaining: easy.Budget})
	v = check.Linearizable(h, 10*milli)
	if v.RequireCompared(); v.Checked != 1 || v.Count != 0 || v.Note != "2 parts, 1 undecided" {
		t.Errorf("%+v", v)
	}
}

func TestAResultThatComparedNothingIsAViolation(t *testing.T) {
	for _, c := range []struct {
		v    check.Result
		want int
	}{
		{check.Result{}, 1},
		{check.Result{Checked: 1}, 0},
		{check.Result{MayBeEmpty: true}, 0},
		{check.Digests(history.New()), 1},
		{check.Digests(&history.History{Digests: []history.Digest{{Node: "n1", Group: "1", Index: 7, Digest: "a"}}}), 0},
	} {
		if c.v.RequireCompared(); c.v.Count != c.want {
			t.Errorf("%+v: %d violations, want %d", c.v, c.v.Count, c.want)
		}
	}
}
