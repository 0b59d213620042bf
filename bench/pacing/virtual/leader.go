package virtual

import (
	"math"
	"slices"

	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// leader bills clicks, sums up what nodes report, runs the policy once a second, and sends its decisions.
type leader struct {
	budgets   []ledger.Budget
	wallet    ledger.Wallet
	unlimited bool
	seen      policy.Seen
	allowed   []int64 // What may be billed of each campaign: its budget, or what was billed when the budget was lowered.
	rates     *Rates
	learned   []rate
	delay     delay
	holds     *holds
	lag       int64
	down      bool // There was no leader at the last second.

	sums    []memberSum
	words   []uint64
	flights []*decision // Sent and not yet due everywhere, the newest last.
	spare   []*decision
}

// memberSum is what the leader knows of one node: the totals of its newest reports, and the reports on their way, the
// oldest first. What earlier starts of the node reported stays in the leader's sums.
type memberSum struct {
	own      []money.Micros
	wins     []uint64
	auctions [2]int64
	transit  []*report
}

// report is what a node has served since its start, of the campaigns that won since the last report that arrived.
type report struct {
	at       int64
	entries  []market.Spent
	auctions [2]int64
}

// decision is what the leader sent at one tick.
type decision struct {
	at    int64
	words []uint64
	hold  []int64
	rates []uint32
}

func newLeader(day *scenario.Day, config *Config, rates *Rates) *leader {
	n := len(day.Campaigns)
	l := &leader{
		budgets: make([]ledger.Budget, n), unlimited: config.Unlimited, rates: rates, learned: rates.start(), lag: config.LagMillis,
		sums: make([]memberSum, config.Nodes), words: make([]uint64, n), holds: newHolds(n), delay: newDelay(),
	}
	l.seen = policy.Seen{Budget: make([]int64, n), Spent: make([]int64, n), Expected: make([]int64, n), Wins: make([]int64, n)}
	l.allowed = make([]int64, n)
	for i := range l.words {
		l.words[i] = controller.Open
		l.allowed[i] = day.Campaigns[i].Budget
		l.seen.Budget[i] = day.Campaigns[i].Budget
		if !config.Unlimited {
			l.budgets[i].Amount = money.Micros(day.Campaigns[i].Budget)
		}
	}
	for i := range l.sums {
		l.sums[i].own, l.sums[i].wins = make([]money.Micros, n), make([]uint64, n)
	}
	return l
}

// left returns what is left of a budget.
func (l *leader) left(i int) int64 {
	left, limited := l.budgets[i].Left()
	if !limited {
		return math.MaxInt64
	}
	return int64(left)
}

// charge bills a click at a price and returns what was billed of it.
func (l *leader) charge(i int, price int64) (charged int64) {
	charged = int64(ledger.Charge(&l.budgets[i], &l.wallet, true, money.Micros(price)))
	l.seen.Spent[i] = int64(l.budgets[i].Spent)
	return charged
}

// edit changes a budget.
func (l *leader) edit(campaign int32, budget int64) {
	if l.unlimited {
		return
	}
	l.budgets[campaign].Amount = money.Micros(budget)
	l.seen.Budget[campaign] = budget
	l.allowed[campaign] = max(budget, l.seen.Spent[campaign])
}

// tick takes the reports, runs the policy and sends what it decided.
func (l *leader) tick(s *simulation) {
	if l.down {
		l.down = false
		if r, ok := s.policy.(policy.Restarter); ok {
			r.Restart()
		}
	}
	l.seen.Millis = s.now
	for number, n := range s.nodes {
		m := &l.sums[number]
		if n.dead {
			continue
		}
		if r := n.report(s.now+l.lag, n.linked && !s.lost(number)); r != nil {
			m.transit = append(m.transit, r)
		}
		for len(m.transit) > 0 && m.transit[0].at <= s.now {
			l.take(m, m.transit[0])
			m.transit = m.transit[1:]
		}
	}
	l.seen.DelaySeconds = l.delay.mean()
	s.policy.Tick(&l.seen, l.words)
	l.send(s)
}

// take adds what a report has more than the one before.
func (l *leader) take(m *memberSum, r *report) {
	for _, spent := range r.entries {
		i := spent.Ordinal - 1
		l.seen.Expected[i] += int64(spent.Expected - m.own[i])
		l.seen.Wins[i] += int64(spent.Wins - m.wins[i]) // Few.
		m.own[i], m.wins[i] = spent.Expected, spent.Wins
	}
	for kind := range r.auctions {
		l.seen.Auctions[kind] += r.auctions[kind] - m.auctions[kind]
	}
	m.auctions = r.auctions
}

// send puts the decision on its way.
func (l *leader) send(s *simulation) {
	var hold []int64
	if h, ok := s.policy.(policy.Holder); ok {
		hold = h.Holds()
	} else if s.config.Hold {
		hold = l.holds.tick(&l.seen)
	}
	d := l.newDecision()
	d.at = s.now + l.lag
	d.words = append(d.words[:0], l.words...)
	d.hold = append(d.hold[:0], hold...)
	for len(d.hold) < len(l.words) {
		d.hold = append(d.hold, 0)
	}
	d.rates = d.rates[:0]
	for i := range l.learned {
		d.rates = append(d.rates, l.learned[i].predict())
	}
	l.flights = append(l.flights, d)
}

// newDecision returns a decision whose memory may be used before.
func (l *leader) newDecision() *decision {
	if n := len(l.spare); n > 0 {
		d := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return d
	}
	return &decision{}
}

// sent returns the newest decision that has arrived by now, nil before the first.
func (l *leader) sent(now int64) *decision {
	for len(l.flights) > 1 && l.flights[1].at <= now {
		l.spare = append(l.spare, l.flights[0])
		l.flights = slices.Delete(l.flights, 0, 1)
	}
	if len(l.flights) == 0 || l.flights[0].at > now {
		return nil
	}
	return l.flights[0]
}

// forget ends the totals of a node that stopped: what it reported stays counted.
func (l *leader) forget(number int) {
	m := &l.sums[number]
	clear(m.own)
	clear(m.wins)
	m.auctions, m.transit = [2]int64{}, nil
}

// holds keeps the hold for policies that have none of their own.
type holds struct {
	states   []controller.State
	expected []int64
	wins     []int64
	hold     []int64
	params   controller.Params
	curve    *controller.Curve
}

func newHolds(n int) *holds {
	return &holds{
		states: make([]controller.State, n), expected: make([]int64, n), wins: make([]int64, n), hold: make([]int64, n),
		params: controller.Defaults(), curve: controller.Uniform(),
	}
}

// tick returns the hold of each campaign.
func (h *holds) tick(seen *policy.Seen) []int64 {
	h.params.ClickDelay = seen.DelaySeconds
	for i := range h.states {
		served := controller.Served{
			Expected: money.Micros(seen.Expected[i] - h.expected[i]), Wins: uint64(max(0, seen.Wins[i]-h.wins[i])),
		}
		h.expected[i], h.wins[i] = seen.Expected[i], seen.Wins[i]
		plan := controller.Plan{Budget: money.Micros(seen.Budget[i]), Spent: money.Micros(seen.Spent[i]), Mode: controller.Fast}
		h.hold[i] = int64(h.states[i].Tick(policy.Epoch+seen.Millis, &plan, served, h.curve, &h.params).Hold)
	}
	return h.hold
}
