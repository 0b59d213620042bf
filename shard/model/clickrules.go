package model

// ClickRules are the rules of a marketplace by which clicks on ads are invalid: acknowledged and counted by the rule that
// caught them, and otherwise without effect. 0 turns a rule off. Users and campaigns are told apart, marketplaces too; each
// group counts the clicks on its own campaigns. Hours and days are those of UTC in which the click occurred.
type ClickRules struct {
	MinSeconds    uint8  // A click must not be reported sooner after its auction.
	MaxHours      uint8  // A click must not be reported later after its auction.
	RepeatSeconds uint16 // Two valid clicks of a user on the same ad are at least this far apart.
	// The most valid clicks of a user: on ads of one campaign in an hour, on all ads in an hour, and on all ads on a day.
	PerCampaignHour, PerUserHour, PerUserDay uint8
}

// CountUsers reports whether a rule needs the earlier clicks of a user.
func (r *ClickRules) CountUsers() bool {
	return r.RepeatSeconds > 0 || r.PerCampaignHour > 0 || r.PerUserHour > 0 || r.PerUserDay > 0
}
