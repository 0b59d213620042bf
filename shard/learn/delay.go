package learn

// Delay is the mean time from an auction to the report of its click, over about the last delayMemory clicks. The zero
// value is the delay before the first click.
type Delay struct {
	Mean   uint64 // In units of 1/One second. It is read through Seconds, because the zero value stands for the prior.
	Clicks uint32 // Number of clicks that taught it, at most delayMemory.
}

const (
	delayPrior = 60 * One // The mean before the first click.
	// delayPriorClicks is the number of clicks that the prior counts for.
	delayPriorClicks = 20
	// delayMemory is the number of clicks after which a click has lost most of its weight.
	delayMemory = 1_000
)

// DelayMax bounds what one click teaches, in seconds. BOUND: a shop that delivers one report in a hundred a month late
// would otherwise teach a mean of hours, and holds of hours stop campaigns that have budget left.
const DelayMax = 2 * 3600

// Add adds a click that was reported some seconds after its auction.
func (d *Delay) Add(seconds uint32) {
	mean, age := d.of(), uint64(min(seconds, DelayMax))*One
	weight := uint64(d.Clicks) + delayPriorClicks + 1
	if age >= mean {
		mean += (age - mean) / weight
	} else {
		mean -= (mean - age) / weight
	}
	d.Mean = mean
	d.Clicks = min(d.Clicks+1, delayMemory)
}

func (d *Delay) of() uint64 {
	if d.Clicks == 0 {
		return delayPrior
	}
	return d.Mean
}

// Millis returns the mean delay in milliseconds.
func (d *Delay) Millis() int64 { return int64(d.of() * 1000 / One) } // At most DelayMax.
