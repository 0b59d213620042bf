// Package policy holds the ways to spend a budget that the simulator compares: no pacing, published baselines with
// tuned constants, and the marketplace's own controller (package shard/pacing).
//
// A policy is called once a simulated second with what the leader of the campaigns' group knows, and writes one pacing
// word for each campaign, in the form that auctions read. The hold, which keeps money for ads whose clicks are still to
// come, is not part of a policy, so that every policy can be measured with and without it.
package policy

import (
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// Knowledge is what a policy may know before the day begins.
type Knowledge struct {
	Day *scenario.Day // Campaigns and forecast. A policy must not read its requests, except to classify candidates.
	// Unpaced is what each campaign would have spent on another day without a limit, in micros.
	Unpaced []float64
	// Auctions is the true number of requests in which each campaign competes today. Only the upper references may read
	// it, because no marketplace knows it.
	Auctions []float64
	// Controller are the constants of the marketplace's controller.
	Controller controller.Params
	// Multipliers are the static multipliers that would have spent each budget today (hindsight); nil unless a policy
	// asks for them.
	Multipliers []float64
}

// Seen is what the leader knows at a tick. Slices have one element for each campaign.
type Seen struct {
	Millis   int64
	Budget   []int64 // In force now.
	Spent    []int64 // Billed.
	Expected []int64 // Expected cost of all wins that nodes reported, in micros.
	Wins     []int64
	Auctions [2]int64 // Requests that nodes reported, for listings and for banners.
	// DelaySeconds is the mean time from an auction to its click, as learned so far.
	DelaySeconds float64
}

// Policy decides the pacing words.
type Policy interface {
	// Tick stores the word of each campaign in words, which still holds the words of the last tick. It is called once a
	// second. OWNERSHIP: seen is valid during the call.
	Tick(seen *Seen, words []uint64)
}

// Observer is a policy that learns after every auction, without delay and on all nodes at once.
type Observer interface {
	// Observe is called for every campaign that competed in a request, with the expected cost of what it won. It
	// returns the campaign's next word.
	Observe(campaign int32, cost int64) (word uint64)
}

// Admitter is a policy that decides about single requests by the quality of a candidate.
type Admitter interface {
	// Admit reports whether a candidate competes. uniform is a random value from 0 to 1.
	Admit(c *scenario.Candidate, uniform float64) bool
	// Won reports the expected cost of a win.
	Won(c *scenario.Candidate, cost int64)
}

// Holder is a policy that keeps the hold itself, in micros for each campaign.
type Holder interface{ Holds() []int64 }

// Restarter is a policy whose memory survives the loss of the leader: Restart makes it continue on another one.
type Restarter interface{ Restart() }

// Kind is a policy that can be made for a day.
type Kind struct {
	Name string
	// About says in one line what the policy does and where it comes from.
	About string
	// New makes the policy.
	New func(k *Knowledge) Policy
	// Hindsight says that the policy needs Knowledge.Multipliers.
	Hindsight bool
}

// Kinds returns every policy in the order of the tables. The first one is the marketplace's controller.
func Kinds() []Kind {
	return []Kind{
		{Name: Controller, About: "this marketplace's controller (shard/pacing)", New: newController},
		{Name: "gavel-throttle", About: "the same controller, which never lowers bids", New: newControllerThrottle},
		{Name: None, About: "no pacing", New: newNone},
		{Name: "static-throttle", About: "constant probability: budget / yesterday's unpaced spend", New: newStaticThrottle},
		{Name: "ptr", About: "LinkedIn's pass-through rate (KDD 2014)", New: newPassThrough},
		{Name: "pid-throttle", About: "PID controller of the probability to compete", New: newThrottlePID},
		{Name: "pid-bid", About: "PID controller of the bid factor", New: newBidPID},
		{Name: "smart-pacing", About: "throttling in 8 layers of click rate (Yahoo, KDD 2015)", New: newLayers},
		{Name: "sgd", About: "gradient step per auction, given the true number of auctions", New: newGradient},
		{Name: "mirror-descent", About: "dual mirror descent per auction, given the true number of auctions", New: newMirror},
		{Name: "hindsight", About: "static multipliers that spend the budgets of this very day", New: newStaticBid, Hindsight: true},
	}
}

// The names of two policies that have a special part: the one that all others are compared with, and the one that says
// which campaigns are constrained.
const (
	Controller = "gavel"
	None       = "none"
)

// throttle returns the word of a probability to compete, and shade that of a bid factor.
func throttle(pass float64) uint64         { return controller.Word(pass, 1) }
func shade(multiplier float64) uint64      { return controller.Word(1, multiplier) }
func every(seen *Seen, seconds int64) bool { return seen.Millis/1000%seconds == 0 }

// Named returns the policy of a name. REQUIRES: the name is that of one of Kinds.
func Named(name string) Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	panic("policy: there is no policy " + name)
}
