// Package pacing spreads what a campaign spends over its budget period in proportion to the traffic that is expected.
//
// One State steers one campaign. Its Tick, called about once a second, takes what all nodes served since the last call
// and returns a Decision: the word that auctions read (the factor of the bids and the probability to compete), and the
// hold (the expected cost of ads that were served and whose outcome is open). A campaign is steered by a factor of its
// bids first, and by the probability to compete only where a smaller bid would be pointless.
//
// The package computes with floats, because only the leader of a group calls Tick: its results are replicated as
// integers (Decision, Memory) and no replica recomputes them. What replicas do compute is in files without floats
// (traffic.go). Like the rest of the engine it has no clock and no randomness: the time is an argument. A State must
// not be used by two goroutines at once; a Curve and Params may, because they are not changed.
package pacing

import "github.com/gavel-ads/gavel/shard/money"

// Served is what all nodes together served of one campaign since the previous tick of its State.
type Served struct {
	Expected money.Micros // Sum of the expected costs of the wins, price x probability of a charge; 0 to money.MaxMicros.
	Wins     uint64
	Auctions uint64 // Auctions of the campaign's marketplace and ad format, also those in which it had no bid.
}

// Decision is the result of a tick. Everything in it is an integer, so that it can be replicated as it is.
type Decision struct {
	// Word is what auctions read, as word.go describes it. It is Stopped while nothing is left for the day or the period,
	// and Open while the campaign is not paced.
	Word uint64
	// Hold is the expected cost of ads whose outcome is open, rounded up. It is at least 0. Room for the next ad is
	// what is left of the budget less the hold.
	Hold money.Micros
	// Status says what bounds the spend, for people.
	Status Status
	// Skip is the share of this period's auctions that pacing left out, in units of 1/2^32: by the probability to
	// compete, or because the campaign was stopped.
	Skip uint32
	// Multiplier is the mean factor of the bids in this period, weighted by traffic, in units of 1/2^31, at most 2^31.
	Multiplier uint32
}
