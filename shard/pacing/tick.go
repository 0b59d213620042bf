package pacing // float: the leader computes this; its results are replicated as integers.

import (
	"math"

	"github.com/gavel-ads/gavel/shard/money"
)

// gapMax is the longest time between two ticks that changes the aggressiveness, in seconds. After a longer one the first
// tick would act on traffic and spend that nobody counted.
const gapMax = 60

// advance moves the state's time to now and returns the time before and the seconds between.
func (s *State) advance(now int64) (last int64, dt float64) {
	last = s.at
	if !s.started {
		last = now - 1000 // The first tick is one like the others.
	}
	if now <= last {
		return last, 0
	}
	s.at = now
	return last, float64(now-last) / 1000
}

// begin starts the campaign or the period, and the day, where the plan has a new one.
func (s *State) begin(plan *Plan, p *Params) {
	switch {
	case !s.started:
		s.started, s.period, s.cap = true, plan.Period, plan.cap()
		s.x, s.opening = p.Start, OpeningUnknown
	case s.period != plan.Period:
		if s.opening <= 0 {
			s.x = s.opening
		}
		s.period, s.cap, s.opening = plan.Period, plan.cap(), OpeningUnknown
		s.seen, s.seenHours, s.skip, s.multiplier = 0, 0, 0, 0
		s.dayStart, s.daySpent = plan.DayStartMillis, 0
		return
	}
	if s.dayStart != plan.DayStartMillis {
		s.dayStart, s.daySpent = plan.DayStartMillis, plan.Spent
	}
}

// serve lets the hold and the rate of wins decay over dt seconds and adds what was served.
func (s *State) serve(dt float64, served *Served, p *Params) {
	fast := max(p.ClickDelay, 1) / (1 - p.SlowShare + p.SlowShare*p.SlowFactor)
	cost := float64(min(max(served.Expected, 0), money.MaxMicros))
	s.holdFast = s.holdFast*decay(dt/fast) + (1-p.SlowShare)*cost
	s.holdSlow = s.holdSlow*decay(dt/(fast*p.SlowFactor)) + p.SlowShare*cost
	s.winRate = s.winRate*decay(dt/p.WinMemory) + float64(served.Wins)/p.WinMemory
}

// hold returns the expected cost of ads whose outcome is open.
func (s *State) hold() float64 { return s.holdFast + s.holdSlow }

// traffics is what is known of the traffic of the period.
type traffics struct {
	total    float64 // Weight of the curve over the plan.
	gone     float64 // The same until now.
	forecast float64 // Auctions in the plan as forecast; 0: not known.
	expected float64 // Auctions in the plan as they look now; 0: not known.
	day      float64 // Weight of the curve over the current day inside the plan; 0: days have no cap.
	dayGone  float64 // The same until now.
	seconds  float64 // Time from the plan's start to its end.
}

// traffics counts the traffic since the last tick and returns what is known of the plan's.
func (s *State) traffics(last, now int64, plan *Plan, auctions uint64, c *Curve) (t traffics) {
	if plan.Mode != Even {
		s.seen += float64(auctions)
		return t
	}
	start, end := plan.StartMillis, plan.EndMillis
	at := c.at(min(max(now, start), max(end, start)))
	begin := c.at(start)
	t.total, t.gone = max(c.at(end)-begin, 0), at-begin
	t.forecast = c.level * t.total
	t.seconds = float64(max(end-start, 0)) / 1000
	if now > start {
		s.seen += float64(auctions)
		s.seenHours += c.Share(max(last, start), now)
	}
	if from, to := max(plan.DayStartMillis, start), min(plan.DayEndMillis, end); from < to {
		dayBegin := c.at(from)
		t.day, t.dayGone = c.at(to)-dayBegin, max(at-dayBegin, 0)
	}
	return t
}

// limits is what may still be spent.
type limits struct {
	cap  float64
	left float64 // Of the period, not less the hold.
	free float64 // Of the period, less the hold; at least 0.
	day  float64 // Of the day, less the hold; +Inf when days have no cap.
}

func (s *State) limits(plan *Plan, t *traffics, p *Params) limits {
	l := limits{cap: float64(plan.cap()), day: math.Inf(1)}
	l.left = l.cap - float64(max(plan.Spent, 0))
	l.free = max(l.left-s.hold(), 0)
	if t.day > 0 && t.total > 0 {
		today := float64(max(plan.Spent-s.daySpent, 0))
		l.day = max(p.DayCap*l.cap*t.day/t.total-today-s.hold(), 0)
	}
	return l
}

// edit answers a change of the budget inside a period at once: spend grows with the square of the aggressiveness.
func (s *State) edit(plan *Plan, p *Params) {
	was := s.cap
	s.cap = plan.cap()
	if was == s.cap || plan.Mode != Even {
		return
	}
	used := float64(max(plan.Spent, 0)) + s.hold()
	before, after := float64(was)-used, float64(s.cap)-used
	if before > 0 && after > 0 {
		s.x = clamp(s.x+p.EditGain*clamp(math.Log(after/before), -p.StepMax, p.StepMax), p.XMin, 0)
	}
}

// steer moves the aggressiveness toward the target: what is free over the traffic that remains.
func (s *State) steer(dt float64, served *Served, t *traffics, l *limits, p *Params) {
	if !s.expect(t, p) {
		return
	}
	remaining := t.expected * max(p.RemainingMin, 1-p.FastFinish-t.gone/t.total)
	target := l.free / remaining
	if t.day > 0 {
		today := t.expected / t.total * max(p.RemainingMin*t.day, t.day-t.dayGone)
		target = min(target, l.day/today)
	}
	base := t.forecast
	if base == 0 {
		base = t.expected
	}
	epsilon := p.EpsilonShare * l.cap / base

	tau := p.loop(s.winRate, t.seconds)
	forget := decay(2 * dt / tau)
	s.cost = s.cost*forget + float64(max(served.Expected, 0))
	s.traffic = s.traffic*forget + float64(served.Auctions)
	if s.traffic < trafficMin {
		return // No traffic for a long time: nothing says what the aggressiveness costs.
	}
	step := clamp(math.Log((target+epsilon)/(s.cost/s.traffic+epsilon)), -p.StepMax, p.StepMax)
	s.x = clamp(s.x+step*min(min(dt, gapMax)/tau, 1), p.XMin, 0)
}

// trafficMin is the least number of auctions in memory that an estimate is made from.
const trafficMin = 1e-3

// expect fills what the plan's traffic looks like now: what was seen, weighed against the forecast. It reports whether
// anything is known of it.
func (s *State) expect(t *traffics, p *Params) bool {
	if t.total <= 0 {
		return false
	}
	share, prior := s.seenHours/t.total, 0.0
	if t.forecast > 0 {
		t.forecast = max(t.forecast, 1)
		prior = p.PriorShare
	}
	t.expected = (s.seen + prior*t.forecast) / (share + prior)
	return t.expected > 0 && !math.IsInf(t.expected, 0)
}

// loop returns the time constant of the loop for a campaign that wins so often and a plan of so many seconds.
func (p *Params) loop(winRate, planSeconds float64) float64 {
	tau := p.LoopMax
	if winRate*tau > p.Evidence {
		tau = p.Evidence / winRate
	}
	return max(min(max(tau, p.LoopMin), planSeconds*p.LoopShare), 1)
}

// remember keeps the aggressiveness of the period's beginning for the beginning of the next.
func (s *State) remember(now int64, plan *Plan, p *Params) {
	if s.opening > 0 && float64(now-plan.StartMillis)/1000 >= p.OpeningSeconds {
		s.opening = s.x
	}
}

func clamp(v, low, high float64) float64 { return max(low, min(v, high)) }

// decay returns e^-y for y >= 0. A tick is short beside the times of memory, so that five terms of the series are right to
// 3e-7 of the value, without the cost of the exponential.
func decay(y float64) float64 {
	if y < 0.125 {
		return 1 - y*(1-y*(1.0/2-y*(1.0/6-y*(1.0/24))))
	}
	return math.Exp(-y)
}
