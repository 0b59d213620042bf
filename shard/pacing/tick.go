package pacing // float: the leader computes this; its results are replicated as integers.

import "math"

// gapMax is the longest time between two ticks, in seconds, that changes the aggressiveness: a longer one changes it as
// one of this length would. After a restored memory that is older, the first tick learns nothing.
const gapMax = 60

// perMilli converts milliseconds to seconds. Multiplying is faster than dividing.
const perMilli = 1e-3

// advance moves the state's time to now and returns the time before and the seconds between.
func (s *State) advance(now int64) (last int64, dt float64) {
	last = s.at
	if !s.started {
		last = now - 1000 // The first tick is one like the others.
	}
	if now <= last {
		return now, 0
	}
	s.at = now
	return last, float64(now-last) * perMilli
}

// begin starts the campaign or the period, and the day, where the plan has a new one.
func (s *State) begin(plan *Plan) {
	switch {
	case !s.started:
		s.started, s.period, s.cap = true, plan.Period, plan.cap()
		s.aggressiveness, s.opening = 1, openingUnknown
	case s.period != plan.Period:
		if s.opening != openingUnknown {
			s.jump(s.opening)
		}
		s.period, s.cap, s.opening = plan.Period, plan.cap(), openingUnknown
		s.steered, s.seen, s.seenHours, s.surge, s.behind = 0, 0, 0, 0, 0
		s.usedKnown = false
		s.counted, s.skip, s.multiplier = 0, 0, 0
		s.dayStart, s.daySpent = plan.DayStartMillis, 0
	}
	if s.dayStart != plan.DayStartMillis {
		s.dayStart, s.daySpent = plan.DayStartMillis, plan.Spent
	}
}

// serve lets the hold and the rate of wins decay over dt seconds and adds what was served.
func (s *State) serve(dt float64, served *Served, p *Params) {
	cost, wins := served.cost(), float64(served.Wins)
	y := dt * (1 - p.SlowShare + p.SlowShare*p.SlowFactor) / clamp(p.ClickDelay, 1, delayMax)
	s.holdFast = s.holdFast*decay(y) + (1-p.SlowShare)*cost
	s.holdSlow = s.holdSlow*decay(y/p.SlowFactor) + p.SlowShare*cost
	perSecond := 1 / p.WinMemory
	s.winRate = s.winRate*decay(dt*perSecond) + wins*perSecond
	if !s.steering {
		s.wins += wins
	}
}

// delayMax bounds the click delay: a week, after which clicks are not charged, in seconds.
const delayMax = 7 * daySeconds

func (s *Served) cost() float64 { return amount(s.Expected) }

// hold returns the expected cost of ads whose outcome is open.
func (s *State) hold() float64 { return s.holdFast + s.holdSlow }

// traffic is what the curve expects of the plan, in average hours, and what that means in auctions.
type traffic struct {
	total, gone  float64 // Of the plan, and of it until now.
	day, dayGone float64 // Of the current day inside the plan, and of it until now; 0: days have no cap.
	seconds      float64 // Time from the plan's start to its end.
	forecast     float64 // Auctions in the plan as forecast; 0: not known.
}

// observe counts the auctions since the last tick and fills what the curve expects of the plan. Without a curve the
// mean traffic of the period so far would say little about the rest of it, so that only the last hour counts: then what
// is free is spread over the time that remains.
func (s *State) observe(t *traffic, last, now int64, plan *Plan, auctions uint64, c *Curve, p *Params) {
	start := inRange(plan.StartMillis)
	end := max(inRange(plan.EndMillis), start)
	begin, at := c.at(start), c.at(min(max(now, start), end))
	t.total, t.gone = c.at(end)-begin, at-begin
	t.seconds = float64(end-start) * perMilli
	t.forecast = c.level * t.total
	if now > start && last < end {
		s.see(t, float64(now-last)*perMilli, at-c.at(max(last, start)), float64(auctions), c.flat && c.level == 0, p)
	}
	if from, to := max(plan.DayStartMillis, start), min(plan.DayEndMillis, end); from < to {
		dayBegin := c.at(from)
		t.day, t.dayGone = c.at(to)-dayBegin, max(at-dayBegin, 0)
	}
}

// see counts auctions over an interval of dt seconds to which the curve gives a weight of hours. Traffic of which the
// curve expects nothing, such as that of hours in which the campaign does not compete, says nothing about the rest.
func (s *State) see(t *traffic, dt, hours, auctions float64, forget bool, p *Params) {
	if hours <= 0 {
		return
	}
	if forget {
		kept := decay(dt / clamp(t.seconds*p.UnknownShare, 1, p.UnknownMemory))
		s.seen, s.seenHours = s.seen*kept, s.seenHours*kept
	} else {
		auctions -= s.surgeOf(t, dt, hours, auctions, p)
	}
	s.seen += auctions
	s.seenHours += hours
}

// surgeOf returns how many of the auctions are a surge's and say nothing about the rest of the period: while there are
// more than Params.SurgeMax times the level, what is above the level. Otherwise an hour of five times the traffic would be
// expected to go on until midnight. While the surge lasts its auctions are in the level all the same, because nobody knows
// when it ends, and it may be no surge but the day's true level; they leave it when it has ended. The mean of the last
// minutes decides, and only if it is of many auctions, because few come in clusters by chance.
func (s *State) surgeOf(t *traffic, dt, hours, auctions float64, p *Params) float64 {
	kept := decay(dt * surgePerSecond)
	s.lately, s.latelyHours = s.lately*kept+auctions, s.latelyHours*kept+hours
	seen, in := s.known(s.seen, t, p)
	if s.lately < p.SurgeEvidence || s.lately*in <= p.SurgeMax*seen*s.latelyHours || seen <= 0 {
		s.surge *= kept
		return 0
	}
	above := auctions - seen/in*hours
	if above < 0 {
		above = 0
	}
	s.surge += above
	return above
}

// surgePerSecond makes the memory of the last minutes one of 5 minutes, within which a surge that has ended is forgotten.
const surgePerSecond = 1.0 / 300

// limits is what may still be spent, in micro-units.
type limits struct {
	cap  float64 // Budget and carry.
	left float64 // Of the period, not less the hold.
	free float64 // Of the period, less the hold; at least 0.
	day  float64 // Of the day, less the hold; +Inf when days have no cap.
}

func (s *State) limit(l *limits, plan *Plan, t *traffic, p *Params) {
	l.cap, l.day = float64(plan.cap()), math.Inf(1)
	l.left = l.cap - float64(max(plan.Spent, 0))
	if l.free = l.left - s.hold(); l.free < 0 {
		l.free = 0
	}
	if t.day > 0 {
		today := float64(max(plan.Spent-s.daySpent, 0))
		l.day = max(p.DayCap*l.cap*t.day/t.total-today-s.hold(), 0)
	}
}

// spend returns what was billed or put on hold since the last tick, less what was released of the hold.
func (s *State) spend(l *limits, served *Served) float64 {
	used := l.cap - l.left + s.hold()
	spent := used - s.used
	if !s.usedKnown {
		spent = served.cost()
	}
	s.used, s.usedKnown = used, true
	return spent
}

// edit answers a change of the budget inside a period at once. Spend grows with the square of the aggressiveness, so
// that the square root of the change of what is free would be right if all auctions cost alike.
func (s *State) edit(plan *Plan, l *limits, p *Params) {
	if plan.cap() == s.cap {
		return
	}
	before := l.free - l.cap + float64(s.cap)
	s.cap = plan.cap()
	if plan.Mode == Even && s.steering && before > 0 && l.free > 0 {
		s.jump(p.bound(s.aggressiveness * math.Exp(p.EditGain*clamp(math.Log(l.free/before), -p.StepMax, p.StepMax))))
	}
}

// jump changes the aggressiveness at once, and the memory of the estimate with it: spend goes with the square, and the
// loop would answer a second time to what it remembers of the old spend.
func (s *State) jump(aggressiveness float64) {
	factor := aggressiveness / s.aggressiveness
	s.aggressiveness = aggressiveness
	s.cost *= factor * factor
}

// steer moves the aggressiveness toward the target. The plan of the period and the cap of the day are two targets, of
// which the smaller counts.
func (s *State) steer(dt, spent float64, served *Served, t *traffic, l *limits, p *Params) {
	level := s.level(t, p)
	if level <= 0 {
		return // Nothing is known of the traffic yet.
	}
	free, remaining := l.free, level*clamp((1-p.FastFinish)*t.total-t.gone, p.RemainingMin*t.total, t.total)
	if t.day > 0 {
		today := level * max(p.RemainingMin*t.day, t.day-t.dayGone)
		if l.day*remaining < free*today {
			free, remaining = l.day, today
		}
	}
	tau := p.loop(s.winRate, t.seconds)
	if p.CatchUp > 0 {
		window := clamp(p.CatchUp*tau, clamp(t.seconds*p.CatchUpShare, 1, p.CatchUpMin), t.seconds) * level * t.total / t.seconds
		free = s.catchUp(free, remaining, window, spent, float64(served.Auctions), p)
	}
	base := t.forecast
	if base == 0 {
		base = level * t.total
	}
	epsilon := p.EpsilonShare * l.cap / base

	part := dt / tau
	forget := decay(2 * part)
	s.cost = s.cost*forget + served.cost()
	s.traffic = s.traffic*forget + float64(served.Auctions)
	if s.traffic < trafficMin {
		return // Without traffic nothing says what the aggressiveness costs.
	}
	// The ratio of target, free/remaining + epsilon, and estimate, cost/traffic + epsilon, both times remaining x
	// traffic.
	step := lnRatio((free+epsilon*remaining)*s.traffic, (s.cost+epsilon*s.traffic)*remaining)
	if !s.steering {
		s.beginSteering(step, l, p)
		return
	}
	if dt > gapMax {
		part *= gapMax / dt
	}
	s.aggressiveness = p.bound(s.aggressiveness * exp(clamp(step, -p.StepMax, p.StepMax)*clamp(part, 0, 1)))
}

// beginSteering begins to steer a campaign that has no history, once its wins at full bids say what it costs: after
// Params.Evidence wins and Params.ObservedShare of the budget. Before that a small campaign would be held back although
// nothing is known of it. step is the logarithm of target over estimate, and spend grows with the square.
func (s *State) beginSteering(step float64, l *limits, p *Params) {
	if s.wins < p.Evidence || s.used < p.ObservedShare*l.cap {
		return
	}
	s.steering = true
	s.jump(clamp(exp(clamp(step, -p.StepMax, p.StepMax)/2), math.Exp(p.Start), 1))
	s.behind = 0
}

// catchUp returns what of the free amount is planned over the remaining auctions, changed so that the distance from the
// plan is made up within some loop times. Spreading it over the rest of the period, as the target alone does, leaves
// the chance of each click in the curve: with ten clicks a day the first two may come in the first hour. The distance
// sums what each tick's target planned less what was billed or put on hold. An edit or a pause is no distance, because
// the target knows it; and the distance is bounded, so that it does not wind up.
func (s *State) catchUp(free, remaining, window, spent, auctions float64, p *Params) float64 {
	target := free / remaining
	bound := p.CatchUpMax * target * window
	s.behind = clamp(s.behind+target*auctions-spent, -aheadMax*bound, bound)
	return free + clamp(s.behind, -bound, bound)/window*remaining
}

// aheadMax is how many windows a campaign that is ahead of its plan is held back: with a budget of five clicks, one
// click is more than a window plans.
const aheadMax = 4

// trafficMin is the least number of auctions in memory that an estimate is made from.
const trafficMin = 1e-3

// bound clamps an aggressiveness.
func (p *Params) bound(aggressiveness float64) float64 {
	if aggressiveness < p.Floor { // Rare, so that most ticks need no exponential.
		return max(aggressiveness, math.Exp(p.XMin))
	}
	if aggressiveness > 1 {
		return 1
	}
	return aggressiveness
}

// level returns the auctions of an average hour as they look now. It returns 0 when nothing is known.
func (s *State) level(t *traffic, p *Params) float64 {
	seen, in := s.known(s.seen+s.surge, t, p)
	if seen <= 0 || in <= 0 {
		return 0
	}
	return seen / in
}

// known returns what is known of the traffic: auctions, and in how many average hours. They are those that were seen, and
// a share of the forecast that is weighed against them.
func (s *State) known(seen float64, t *traffic, p *Params) (auctions, hours float64) {
	if t.total <= 0 {
		return 0, 0
	}
	if t.forecast <= 0 {
		return seen, s.seenHours
	}
	if t.forecast < 1 {
		t.forecast = 1
	}
	return seen + p.PriorShare*t.forecast, s.seenHours + p.PriorShare*t.total
}

// loop returns the time constant of the loop for a campaign that wins so often and a plan of so many seconds.
func (p *Params) loop(winRate, planSeconds float64) float64 {
	tau := p.LoopMax
	if winRate*tau > p.Evidence {
		tau = p.Evidence / winRate
	}
	tau = clamp(tau, p.LoopMin, p.LoopMax)
	return clamp(planSeconds*p.LoopShare, 1, tau)
}

// remember keeps the aggressiveness of the period's beginning for the beginning of the next.
func (s *State) remember(dt float64, p *Params) {
	if s.opening != openingUnknown || !s.steering {
		return
	}
	s.steered += min(dt, gapMax)
	if s.steered >= p.OpeningSeconds {
		s.opening = s.aggressiveness
	}
}

// clamp returns v, or the bound that it is beyond. The built-in min and max of floats cost four times as much, because
// they order zeros and numbers that are none.
func clamp(v, low, high float64) float64 {
	if v < low {
		return low
	}
	if v > high {
		return high
	}
	return v
}

// inRange clamps a time to 1970 to the year 287,396, in which differences of times cannot overflow and are exact as
// floats.
func inRange(millis int64) int64 { return min(max(millis, 0), 1<<53) }
