package model

// Experiment changes the auctions of a share of a marketplace's users, and compares what they do with as many others
// (market.Experiment). A marketplace has one at a time; its last one stays until the next, so that it can be read. The
// zero value is none.
type Experiment struct {
	Name      string
	Percent   uint8 // Of the users whose auctions are changed, at most ExperimentPercentMax; 0: there is no experiment.
	Treatment Treatment
	// ValueMilli is the factor of reserve prices in thousandths (TreatReserve), at most ExperimentReserveMax, or the
	// exponent of the learned quality (TreatQuality), as in Marketplace.LearnedQualityMilli.
	ValueMilli uint32
	// StartMillis names the experiment within its marketplace and decides, with the marketplace, which users take part.
	StartMillis int64
	EndMillis   int64 // 0: it runs.
}

// Runs reports whether auctions go by the experiment.
func (e *Experiment) Runs() bool { return e.Percent > 0 && e.EndMillis == 0 }

// Treatment is what an experiment changes. The numbers are part of stored settings: append only.
type Treatment uint8

// The treatments.
const (
	TreatNoAds   Treatment = iota // The users see no ads: what do all ads of the marketplace add?
	TreatReserve                  // Reserve prices are multiplied.
	TreatQuality                  // Learned click rates count more or less.
	TreatUnpaced                  // Bids are not lowered or skipped to spread budgets.
	Treatments   = int(TreatUnpaced) + 1
)

// Bounds of an experiment.
const (
	ExperimentPercentMax = 50     // As many users are compared.
	ExperimentReserveMax = 10_000 // Ten times the reserve prices.
)
