package pacing // float: the leader computes this; its results are replicated as integers.

import (
	"math"

	"github.com/gavel-ads/gavel/shard/money"
)

// Memory is what a State must remember to continue after a restart or on another leader, as integers that can be
// replicated. It changes with every tick, but only slowly: an old copy is good enough to continue from, because the
// first tick after Restore lets the hold decay over the time since, and learns nothing from that time when it is more
// than a minute. The zero value is the memory of a campaign that never ticked.
type Memory struct {
	AtMillis       int64        // Time of the last tick; 0: none.
	Period         uint32       // Plan.Period of the last tick.
	Aggressiveness int32        // Logarithm of the aggressiveness, in units of 2^-24, at most 0.
	Opening        int32        // The same after an hour of steering in this period; OpeningUnknown before that.
	Steered        uint32       // Seconds of steering in this period, until the opening is known.
	HoldFast       money.Micros // The part of the hold that is released at the pace of most clicks.
	HoldSlow       money.Micros // The part that is released at the pace of late clicks.
	Wins           uint32       // Wins at full bids before the campaign is steered; Steering from then on.
	WinRate        uint64       // Wins per second in units of 2^-32.
	Cost           money.Micros // Expected cost in the memory of the estimate.
	Traffic        uint64       // Auctions in the memory of the estimate, in units of 2^-8.
	Seen           uint64       // Auctions since the start of the period; under a flat curve of about the last hour.
	SeenHours      uint64       // Weight of the curve over the same time, in average hours of units of 2^-20.
	Used           money.Micros // Billed in the period and on hold.
	Behind         money.Micros // Distance from the plan; negative when too much was spent.
	Cap            money.Micros // Budget and carry of the last tick.
	DayStartMillis int64        // Plan.DayStartMillis of the last tick.
	DaySpent       money.Micros // Billed in the period before that day.
	Counted        uint64       // Auctions that Skip and Multiplier are means of.
	Skip           uint32       // Decision.Skip.
	Multiplier     uint32       // Decision.Multiplier.
	// Return is the memory of the campaign's Returns, which the caller adds; zero without a target return.
	Return ReturnMemory
}

// Steering is the value of Memory.Wins for a campaign that is steered.
const Steering = math.MaxUint32

// OpeningUnknown is the value of Memory.Opening in the first hour of a period.
const OpeningUnknown = 1

// Units of Memory.
const (
	logUnit     = 1 << 24
	rateUnit    = 1 << 32
	trafficUnit = 1 << 8
	hourUnit    = 1 << 20
)

// Memory returns what must be remembered of the state.
func (s *State) Memory() Memory {
	if !s.started {
		return Memory{}
	}
	return Memory{
		AtMillis: s.at, Period: s.period,
		Aggressiveness: int32(math.Round(math.Log(s.aggressiveness) * logUnit)),
		Opening:        s.openingMemory(), Steered: uint32(clamp(math.Round(s.steered), 0, math.MaxUint32)),
		HoldFast: micros(s.holdFast), HoldSlow: micros(s.holdSlow),
		Wins: s.winsMemory(), WinRate: whole(s.winRate * rateUnit),
		Cost: micros(s.cost), Traffic: whole(s.traffic * trafficUnit),
		Seen: whole(s.seen), SeenHours: whole(s.seenHours * hourUnit),
		Used: micros(s.used), Behind: signed(s.behind),
		Cap: s.cap, DayStartMillis: s.dayStart, DaySpent: s.daySpent,
		Counted: whole(s.counted), Skip: uint32(s.skip * Always), Multiplier: uint32(s.multiplier * Unshaded),
	}
}

func (s *State) winsMemory() uint32 {
	if s.steering {
		return Steering
	}
	return uint32(clamp(math.Round(s.wins), 0, Steering-1))
}

func (s *State) openingMemory() int32 {
	if s.opening == openingUnknown {
		return OpeningUnknown
	}
	return int32(math.Round(math.Log(s.opening) * logUnit))
}

// Restore returns a state that continues where the memory was taken. Members out of range are clamped, so that a memory
// that was not made by Memory is harmless.
func Restore(m Memory) State {
	if m.AtMillis == 0 {
		return State{}
	}
	s := State{
		at: inRange(m.AtMillis), started: true, restored: true, period: m.Period,
		aggressiveness: math.Exp(logOf(m.Aggressiveness)), opening: openingUnknown,
		steered:  float64(m.Steered),
		holdFast: amount(m.HoldFast), holdSlow: amount(m.HoldSlow),
		steering: m.Wins == Steering, wins: float64(m.Wins),
		winRate: float64(m.WinRate) / rateUnit,
		cost:    amount(m.Cost), traffic: float64(m.Traffic) / trafficUnit,
		seen: float64(m.Seen), seenHours: float64(m.SeenHours) / hourUnit,
		used: amount(m.Used), usedKnown: m.Used > 0,
		behind:   float64(min(max(m.Behind, -money.MaxMicros), money.MaxMicros)),
		cap:      min(max(m.Cap, 0), money.MaxMicros),
		dayStart: m.DayStartMillis, daySpent: min(max(m.DaySpent, 0), money.MaxMicros),
		counted: float64(m.Counted), skip: unit(float64(m.Skip) / Always),
		multiplier: unit(float64(m.Multiplier) / Unshaded),
	}
	if m.Opening <= 0 {
		s.opening = math.Exp(logOf(m.Opening))
	}
	return s
}

// logMin bounds logarithms that come from a memory; Tick clamps closer.
const logMin = -64

func logOf(v int32) float64 { return clamp(float64(v)/logUnit, logMin, 0) }

func amount(m money.Micros) float64 { return float64(min(max(m, 0), money.MaxMicros)) }

func micros(v float64) money.Micros {
	return money.Micros(math.Round(clamp(v, 0, float64(money.MaxMicros))))
}

func signed(v float64) money.Micros {
	if v < 0 {
		return -micros(-v)
	}
	return micros(v)
}

// whole rounds to an integer that a float holds exactly.
func whole(v float64) uint64 { return uint64(math.Round(clamp(v, 0, 1<<53))) }
