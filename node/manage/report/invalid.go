package report

import "github.com/gavel-ads/gavel/shard/rollup"

// Invalid counts the clicks that rules of the marketplace have caught, by the rule.
type Invalid struct {
	Clicks         int64 `json:"clicks" doc:"All of them. With those of the report's clicks they are all that were sent."`
	TooSoon        int64 `json:"tooSoon" doc:"Reported too soon after their auction (minClickSeconds)."`
	TooLate        int64 `json:"tooLate" doc:"Reported too late after their auction (maxClickHours)."`
	Repeated       int64 `json:"repeated" doc:"Close to a click of the same user on the same ad (repeatedClickSeconds)."`
	ByCampaignHour int64 `json:"byCampaignHour" doc:"Beyond the clicks of a user on a campaign in an hour (maxClicksPerUserCampaignHour)."`
	ByUserHour     int64 `json:"byUserHour" doc:"Beyond the clicks of a user in an hour (maxClicksPerUserHour)."`
	ByUserDay      int64 `json:"byUserDay" doc:"Beyond the clicks of a user on a day (maxClicksPerUserDay)."`
}

func invalidOf(c *rollup.Counters) Invalid {
	return Invalid{
		Clicks: c.InvalidClicks(), TooSoon: c.Invalid[rollup.TooSoon], TooLate: c.Invalid[rollup.TooLate], Repeated: c.Invalid[rollup.Repeated],
		ByCampaignHour: c.Invalid[rollup.ByCampaignHour], ByUserHour: c.Invalid[rollup.ByUserHour], ByUserDay: c.Invalid[rollup.ByUserDay],
	}
}
