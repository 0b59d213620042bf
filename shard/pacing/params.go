package pacing // float: the leader computes this; its results are replicated as integers.

// Params are the constants of the controller. Times are in seconds. The zero value is not usable: take Defaults and
// change it. A Params is only read, so that all campaigns of a marketplace can share one.
type Params struct {
	// ClickDelay is the mean time from an auction to the event that charges for it, as far as the replicas know it: what a
	// marketplace has learned of its clicks, 60 s before it has. For campaigns that pay for impressions the caller sets it
	// to ImpressionDelay, because the time of impressions is not learned. It counts as 1 s to 7 days.
	ClickDelay, ImpressionDelay float64
	// SlowShare of the clicks are late: their mean delay is SlowFactor times that of the others. ClickDelay is the mean
	// of all.
	SlowShare, SlowFactor float64

	// ObservedShare is the share of its budget that a campaign without history uses at full bids, and at least Evidence
	// wins, before it is steered. Start is the least logarithm of the aggressiveness with which that begins.
	ObservedShare, Start float64
	// Floor is the smallest factor of the bids. Below it the probability to compete falls instead.
	Floor float64
	// XMin is the smallest logarithm of the aggressiveness; the largest is 0.
	XMin float64
	// StepMax bounds the logarithm of the ratio of target and estimate that one tick sees.
	StepMax float64
	// Evidence is the number of wins in a loop time: a campaign that wins rarely reacts slowly.
	Evidence float64
	// LoopMin and LoopMax bound the loop time, which is also at most a share LoopShare of the time of the plan.
	LoopMin, LoopMax, LoopShare float64
	// WinMemory is the time over which the rate of wins is averaged.
	WinMemory float64
	// FastFinish is the share of the period's traffic that is not planned, so that the budget is spent a little early.
	FastFinish float64
	// CatchUp is the number of loop times in which the distance from the plan is made up, at least CatchUpMin seconds, or the
	// share CatchUpShare of the time of a short plan; 0: it is spread over the rest of the period. CatchUpMax bounds the
	// relative change of the target.
	CatchUp, CatchUpMin, CatchUpShare, CatchUpMax float64
	// RemainingMin is the least share of the period's traffic that is assumed to remain.
	RemainingMin float64
	// PriorShare is the share of a period that the forecast of traffic weighs against what was seen.
	PriorShare float64
	// SurgeMax is how many times the traffic of the period so far that of the last minutes must be to count as a surge;
	// SurgeEvidence is the least number of auctions of one.
	SurgeMax, SurgeEvidence float64
	// UnknownMemory is the time over which traffic is averaged under a flat curve without a level; in a short plan it is the
	// share UnknownShare of its time.
	UnknownMemory, UnknownShare float64
	// EpsilonShare of the mean planned cost per auction is added to target and estimate, so that neither is ever 0.
	EpsilonShare float64
	// EditGain is the exponent of the change of what is left by which an edit of the budget changes the aggressiveness.
	EditGain float64
	// DayCap bounds what a weekly, monthly or even total budget spends in a day, in multiples of the day's share.
	DayCap float64
	// OpeningSeconds is the time of steering after which the aggressiveness of a period is remembered for the start of
	// the next.
	OpeningSeconds float64

	// PurchaseDelay is the distribution of the time from a click to its purchase, as a mixture of exponentials whose
	// shares add up to 1.
	PurchaseDelay [3]DelayPart
	// ReturnEvidence is the number of expected purchases in a loop time of the target return; ReturnLoopMin and
	// ReturnLoopMax bound it.
	ReturnEvidence               float64
	ReturnLoopMin, ReturnLoopMax float64
	// ReturnEvery is the time between two updates of the factor.
	ReturnEvery float64
	// ReturnMin is the smallest factor that a target return on ad spend makes of a bid; the largest is 1.
	ReturnMin float64
}

// DelayPart is one part of a mixture of exponential delays.
type DelayPart struct {
	Share float64
	Mean  float64 // In seconds.
}

// Defaults returns the constants that the measurements of bench/results were made with.
func Defaults() Params {
	return Params{
		ClickDelay: 60, ImpressionDelay: 60, SlowShare: 0.1, SlowFactor: 15,
		ObservedShare: 0.01,
		Start:         -1.2039728043259361, // ln 0.3
		Floor:         0.05, XMin: -6, StepMax: 2,
		Evidence: 10, LoopMin: 60, LoopMax: 5400, LoopShare: 1.0 / 16, WinMemory: 1800,
		CatchUp: 3, CatchUpMin: 7200, CatchUpShare: 1.0 / 12, CatchUpMax: 0.8,
		FastFinish: 0.03, RemainingMin: 0.002, PriorShare: 0.1, UnknownMemory: 3600, UnknownShare: 1.0 / 24,
		SurgeMax: 2, SurgeEvidence: 100,
		EpsilonShare: 0.02,
		EditGain:     0.5, DayCap: 2, OpeningSeconds: 3600,
		PurchaseDelay:  [3]DelayPart{{0.35, 20 * 60}, {0.15, 8 * 3600}, {0.5, 6 * 24 * 3600}},
		ReturnEvidence: 60, ReturnLoopMin: 12 * 3600, ReturnLoopMax: 7 * 24 * 3600,
		ReturnEvery: 600, ReturnMin: 0.2,
	}
}
