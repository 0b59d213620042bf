package rollup

// InvalidReason is the rule of a marketplace that found a click invalid. Invalid clicks are counted in Counters.Invalid
// and in no other counter.
type InvalidReason uint8

// The reasons, in the order in which the rules are applied: a click has the first one that holds. They are indexes of
// Counters.Invalid, whose counters are stored at the end of a cell, so a further reason needs a field of its own.
const (
	TooSoon        InvalidReason = iota // It was reported sooner after its auction than a person can click.
	TooLate                             // It was reported too long after its auction.
	Repeated                            // The user had clicked the same ad shortly before or after.
	ByCampaignHour                      // The user had clicked too many ads of the campaign in the hour.
	ByUserHour                          // The user had clicked too many ads in the hour.
	ByUserDay                           // The user had clicked too many ads on the day.
	InvalidReasons = int(ByUserDay) + 1
)

// InvalidClicks returns the clicks that were found invalid, for any reason.
func (c *Counters) InvalidClicks() (sum int64) {
	for _, n := range c.Invalid {
		sum += n
	}
	return sum
}
