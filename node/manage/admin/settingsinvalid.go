package admin

import "github.com/gavel-ads/gavel/shard/model"

// SettingsInvalidPatch changes the rules that it contains.
type SettingsInvalidPatch struct {
	MinSeconds      *int64 `json:"minClickSeconds,omitempty" minimum:"0" maximum:"60" doc:"Catches clicks that are reported sooner than these seconds after their auction (tooSoon), as scripts do that click all they get; 1 is advised. The time is that of the report, so a shop that reports in batches hides such clicks. 0: off."`
	MaxHours        *int64 `json:"maxClickHours,omitempty" minimum:"0" maximum:"167" doc:"Catches clicks that are reported later than these hours after their auction (tooLate), as from copied links and stale pages; 24 is advised. A shop that reports late loses these clicks. 0: off; no click is charged after 7 days anyway."`
	RepeatSeconds   *int64 `json:"repeatedClickSeconds,omitempty" minimum:"0" maximum:"3600" doc:"Catches a click within these seconds of a valid click of the same user on the same ad (repeated): double clicks and reloads; 60 is advised. 0: off."`
	PerCampaignHour *int64 `json:"maxClicksPerUserCampaignHour,omitempty" minimum:"0" maximum:"200" doc:"Catches further clicks of a user who has this many valid clicks on the campaign's ads in an hour (UTC; byCampaignHour), as by a rival that spends a budget; 3 is advised. 0: off."`
	PerUserHour     *int64 `json:"maxClicksPerUserHour,omitempty" minimum:"0" maximum:"200" doc:"Catches further clicks of a user who has this many valid clicks on ads in an hour (UTC; byUserHour); 20 is advised. Each group of a cluster counts its own campaigns. A shop that reports many visitors under one id loses clicks. 0: off."`
	PerUserDay      *int64 `json:"maxClicksPerUserDay,omitempty" minimum:"0" maximum:"200" doc:"As maxClicksPerUserHour, on a UTC day (byUserDay); 100 is advised. 0: off."`
}

// SettingsInvalid are the rules by which clicks are invalid; 0: off.
type SettingsInvalid struct {
	MinSeconds      int `json:"minClickSeconds" doc:"A click is invalid that is reported sooner after its auction; 0: off."`
	MaxHours        int `json:"maxClickHours" doc:"A click is invalid that is reported later after its auction; 0: off."`
	RepeatSeconds   int `json:"repeatedClickSeconds" doc:"A click is invalid that is this close to a valid one of the same user on the same ad; 0: off."`
	PerCampaignHour int `json:"maxClicksPerUserCampaignHour" doc:"How many clicks of a user on a campaign's ads are valid in an hour; 0: any number."`
	PerUserHour     int `json:"maxClicksPerUserHour" doc:"How many clicks of a user are valid in an hour; 0: any number."`
	PerUserDay      int `json:"maxClicksPerUserDay" doc:"How many clicks of a user are valid on a day; 0: any number."`
}

// apply changes the rules. The schema has checked the bounds, so the numbers fit.
func (b *SettingsInvalidPatch) apply(r *model.ClickRules) {
	for _, x := range []struct {
		to   *uint8
		from *int64
	}{
		{&r.MinSeconds, b.MinSeconds},
		{&r.MaxHours, b.MaxHours},
		{&r.PerCampaignHour, b.PerCampaignHour},
		{&r.PerUserHour, b.PerUserHour},
		{&r.PerUserDay, b.PerUserDay},
	} {
		if x.from != nil {
			*x.to = uint8(*x.from) // At most 200.
		}
	}
	if b.RepeatSeconds != nil {
		r.RepeatSeconds = uint16(*b.RepeatSeconds) // At most 3,600.
	}
}

func invalidTrafficOf(r *model.ClickRules) SettingsInvalid {
	return SettingsInvalid{
		MinSeconds: int(r.MinSeconds), MaxHours: int(r.MaxHours), RepeatSeconds: int(r.RepeatSeconds),
		PerCampaignHour: int(r.PerCampaignHour), PerUserHour: int(r.PerUserHour), PerUserDay: int(r.PerUserDay),
	}
}
