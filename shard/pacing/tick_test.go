package pacing

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

// played is a campaign that the tests below tick with random arguments that a node could give.
type played struct {
	r      *rand.Rand
	curve  *Curve
	params Params
	plan   Plan
	now    int64
	served Served
	jump   int64 // The longest time that a tick is late, in milliseconds.
}

func newPlayed(seed uint64) *played {
	r := rand.New(rand.NewPCG(seed, 9))
	w := distinct()
	w.Level = r.Uint64N(1e6) << r.UintN(12)
	p := &played{r: r, params: Defaults(), jump: 600_000, curve: NewCurve(&w, UTC, nil, 0, 3*dayMillis)}
	if r.IntN(4) == 0 {
		p.curve = Uniform()
	}
	p.plan = Plan{Mode: Even, Budget: money.Micros(r.Int64N(1e12) + 1), StartMillis: 0, EndMillis: dayMillis}
	if r.IntN(3) == 0 {
		p.plan.DayEndMillis, p.plan.EndMillis = dayMillis, 3*dayMillis
	}
	p.now = r.Int64N(dayMillis)
	return p
}

// next makes the arguments of another tick: mostly quiet, sometimes with an edit, a pause or a jump.
func (p *played) next() {
	p.now += 1000
	p.served = Served{Auctions: p.r.Uint64N(1000)}
	if p.r.IntN(3) == 0 {
		p.served.Wins = p.r.Uint64N(20)
		p.served.Expected = money.Micros(p.r.Int64N(int64(p.plan.Budget)/1000 + 2))
	}
	p.plan.Spent = min(p.plan.Spent+p.served.Expected, p.plan.cap())
	switch p.r.IntN(400) {
	case 0:
		p.plan.Budget = money.Micros(p.r.Int64N(1e12) + 1)
	case 1:
		p.plan.Paused = !p.plan.Paused
	case 2:
		p.plan.WalletEmpty = !p.plan.WalletEmpty
	case 3:
		p.now += p.r.Int64N(p.jump)
	case 4:
		p.plan.Period, p.plan.Spent = p.plan.Period+1, 0
	case 5:
		p.plan.Carry = money.Micros(p.r.Int64N(1e9))
	case 6:
		p.plan.Mode = Mode(p.r.IntN(3))
	}
}

func checkDecision(t testing.TB, d Decision) {
	t.Helper()
	if d.Word>>32 > Always || d.Word&(1<<32-1) > Unshaded {
		t.Fatalf("the word %x is above %x", d.Word, Open)
	}
	if d.Hold < 0 || d.Hold > money.MaxMicros || d.Multiplier > Unshaded || d.Status >= Statuses {
		t.Fatalf("out of range: %+v", d)
	}
}

// Whatever happens, the word is never above 1.0 and the hold never negative; two equal states stay equal.
func TestTickKeepsItsBounds(t *testing.T) {
	for seed := range uint64(300) {
		p := newPlayed(seed)
		var s, other State
		for range 1000 {
			p.next()
			d := s.Tick(p.now, &p.plan, p.served, p.curve, &p.params)
			checkDecision(t, d)
			if again := other.Tick(p.now, &p.plan, p.served, p.curve, &p.params); again != d || other != s {
				t.Fatalf("seed %d: the same calls decide %+v and %+v", seed, d, again)
			}
		}
	}
}

// The hold of an ad falls without ever rising, most of it at the pace of clicks, and ends at 0.
func TestHoldDecaysToZero(t *testing.T) {
	p := Defaults()
	plan := Plan{Mode: Fast, Budget: 1e9}
	var s State
	hold := s.Tick(1000, &plan, Served{Expected: 1e6, Wins: 1}, Uniform(), &p).Hold
	if hold != 1e6 {
		t.Fatalf("just served, %v of %v are on hold", hold, 1e6)
	}
	sum := float64(hold)
	for second := int64(2); second <= 6*3600; second++ {
		next := s.Tick(second*1000, &plan, Served{}, Uniform(), &p).Hold
		if next > hold {
			t.Fatalf("after %d s the hold rises from %v to %v", second, hold, next)
		}
		hold = next
		sum += float64(hold)
	}
	// A millionth of it is one micro-unit, which is rounded up.
	if hold > 1 {
		t.Errorf("after six hours %v are on hold", hold)
	}
	if mean := sum / 1e6; math.Abs(mean-p.ClickDelay) > 1 {
		t.Errorf("an ad is on hold for %v s on average, want the click delay of %v s", mean, p.ClickDelay)
	}
}

// The hold and the rates do not depend on how often Tick is called.
func TestTickDistancesAreEquivalent(t *testing.T) {
	hold := func(step int64) (float64, float64) {
		p := Defaults()
		plan := Plan{Mode: Fast, Budget: 1e12}
		var s State
		s.Tick(0, &plan, Served{}, Uniform(), &p)
		for now := step; now <= 3_600_000; now += step {
			s.Tick(now, &plan, Served{Expected: money.Micros(step), Wins: uint64(step / 500)}, Uniform(), &p)
		}
		return s.hold(), s.winRate
	}
	h1, w1 := hold(1000)
	h2, w2 := hold(500)
	if math.Abs(h1-h2) > 0.02*h1 || math.Abs(w1-w2) > 0.01*w1 {
		t.Errorf("hold %v and rate %v at 1 s, %v and %v at 0.5 s", h1, w1, h2, w2)
	}
}

// A campaign with less left is never steered to spend more: after the same history, the aggressiveness does not rise
// with what was billed, and does not fall with the budget.
func TestTickIsMonotone(t *testing.T) {
	for seed := range uint64(200) {
		p := newPlayed(seed)
		p.plan.Spent = p.plan.Budget / 4
		var s State
		for range 200 {
			p.now += 1000
			served := Served{Auctions: 100 + p.r.Uint64N(100), Wins: 2, Expected: p.plan.Budget / 50_000}
			s.Tick(p.now, &p.plan, served, p.curve, &p.params)
		}
		p.now += 1000
		served := Served{Auctions: 100, Wins: 1, Expected: p.plan.Budget / 80_000}
		last := math.Inf(1)
		for spent := p.plan.Budget / 4; spent < p.plan.Budget; spent += p.plan.Budget / 40 {
			c, plan := s, p.plan
			plan.Spent = spent
			pass, multiplier := Split(c.Tick(p.now, &plan, served, p.curve, &p.params).Word)
			if spend := pass * multiplier * multiplier; spend > last*(1+1e-9) {
				t.Fatalf("seed %d: with %v billed the factor of spend is %v, with less %v", seed, spent, spend, last)
			} else {
				last = spend
			}
		}
		last = 0
		for budget := p.plan.Budget; budget < 4*p.plan.Budget; budget += p.plan.Budget / 8 {
			c, plan := s, p.plan
			plan.Budget = budget
			pass, multiplier := Split(c.Tick(p.now, &plan, served, p.curve, &p.params).Word)
			if spend := pass * multiplier * multiplier; spend < last*(1-1e-9) {
				t.Fatalf("seed %d: with the budget %v the factor of spend is %v, with less %v", seed, budget, spend, last)
			} else {
				last = spend
			}
		}
	}
}

// What the controller plans to spend until the end of the period is at most what is free: at the target, the spend of
// the traffic that remains is what is left less the hold.
func TestTickPlansWithinWhatIsFree(t *testing.T) {
	p := Defaults()
	w := distinct()
	w.Level = 3600 * 100 << 8
	curve := NewCurve(&w, UTC, nil, 0, 2*dayMillis)
	plan := Plan{Mode: Even, Budget: 1e9, EndMillis: dayMillis}
	var s State
	var d Decision
	served := Served{}
	full := 20.0 * float64(plan.Budget) / curve.Share(0, dayMillis) // Full bids spend 20 budgets.
	open := 0.0
	for now := int64(0); now < dayMillis; now += 1000 {
		d = s.Tick(now, &plan, served, curve, &p)
		pass, multiplier := Split(d.Word)
		rate := full * pass * multiplier * multiplier
		left := curve.Share(now, dayMillis)
		free := max(float64(plan.Budget-plan.Spent)-float64(d.Hold), 0)
		if now > dayMillis/24 && left > 0.1 {
			planned := rate * (left - p.FastFinish*curve.Share(0, dayMillis))
			if planned > 1.02*free+float64(plan.Budget)/1e4 {
				t.Fatalf("at %d s %.0f are planned and %.0f free", now/1000, planned, free)
			}
		}
		share := curve.Share(now, now+1000)
		served = Served{Expected: money.Micros(min(rate*share, free)), Wins: 10, Auctions: uint64(share * 3600 * 100)}
		open += float64(served.Expected)
		clicks := money.Micros(open / p.ClickDelay)
		open -= float64(clicks)
		plan.Spent += clicks
	}
	if plan.Spent > plan.Budget || float64(plan.Spent) < 0.99*float64(plan.Budget) {
		t.Errorf("billed %v of %v", plan.Spent, plan.Budget)
	}
}

// The first tick of a campaign, and one at the time of the last, do not divide by no time.
func TestTickWithoutTime(t *testing.T) {
	p := Defaults()
	plan := Plan{Mode: Even, Budget: 1e6, EndMillis: dayMillis}
	var s State
	for range 3 {
		d := s.Tick(5000, &plan, Served{Expected: 1000, Wins: 1, Auctions: 10}, Uniform(), &p)
		checkDecision(t, d)
	}
	before := s
	if d := s.Tick(4000, &plan, Served{Expected: 500}, Uniform(), &p); d.Hold != 3500 {
		t.Errorf("a tick of the past holds %v, want the sum of what was served", d.Hold)
	}
	if s.at != before.at || s.aggressiveness != before.aggressiveness {
		t.Error("a tick of the past changes the time or the aggressiveness")
	}
}

// The smaller of the factors of budget and target return counts.
func TestCeilingBoundsTheFactor(t *testing.T) {
	p := Defaults()
	for _, mode := range []Mode{Unlimited, Fast, Even} {
		plan := Plan{Mode: mode, Budget: 1e6, EndMillis: dayMillis, Ceiling: Unshaded / 4}
		var s State
		_, multiplier := Split(s.Tick(1000, &plan, Served{}, Uniform(), &p).Word)
		if multiplier != 0.25 {
			t.Errorf("mode %d: factor %v under a ceiling of 0.25", mode, multiplier)
		}
	}
}

func TestTickAllocatesNothing(t *testing.T) {
	p := newPlayed(1)
	var s State
	if n := testing.AllocsPerRun(1000, func() {
		p.next()
		s.Tick(p.now, &p.plan, p.served, p.curve, &p.params)
	}); n != 0 {
		t.Errorf("a tick allocates %v times", n)
	}
}

// A campaign without history competes with full bids until ten wins and a hundredth of its budget say what it costs. Then
// it begins with what they say, and not with a guess.
func TestNothingIsHeldBackWithoutEvidence(t *testing.T) {
	p := Defaults()
	for _, x := range []struct {
		name      string
		budget    money.Micros
		wins      uint64 // Each of an expected cost of 1,000.
		open      bool
		heldBack  bool // When it is steered.
		perSecond uint64
	}{
		{"nine wins", 500_000, 9, true, false, 1},
		{"ten wins", 500_000, 10, false, true, 1},
		{"a large budget", 500_000_000, 4_000, true, false, 1},
		{"a hundredth of a large budget", 10_000_000, 100, false, true, 10},
		{"a campaign that can not spend its budget", 1_000_000_000, 10_000, false, false, 1},
	} {
		var s State
		plan := Plan{Mode: Even, Budget: x.budget, EndMillis: dayMillis}
		now := int64(dayMillis / 2)
		var d Decision
		for range x.wins {
			now += 1000 / int64(x.perSecond)
			plan.Spent += 1_000
			d = s.Tick(now, &plan, Served{Expected: 1_000, Wins: 1, Auctions: 1}, Uniform(), &p)
		}
		if got := d.Word == Open && !s.steering; got != x.open {
			t.Errorf("%s: the word is %x, steered %v", x.name, d.Word, s.steering)
		}
		if got := s.aggressiveness < 1; s.steering && got != x.heldBack {
			t.Errorf("%s: begins with an aggressiveness of %v", x.name, s.aggressiveness)
		}
	}
}

// The cap of a day holds nobody back of whom nothing is known either: the click of a small weekly budget may cost more than
// twice the share of a day.
func TestTheFirstClickMayCostMoreThanADay(t *testing.T) {
	p := Defaults()
	var s State
	plan := Plan{Mode: Even, Budget: 100, EndMillis: 7 * dayMillis, DayEndMillis: dayMillis}
	for second := range int64(10) {
		d := s.Tick(dayMillis/2+second*1000, &plan, Served{Expected: 1, Wins: 1, Auctions: 1}, Uniform(), &p)
		if steered := second == 9; (d.Word == Stopped) != steered {
			t.Errorf("after %d wins the word is %x", second+1, d.Word)
		}
		plan.Spent = 50
	}
}
