package shardtest

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// validClick is a click that the rules of its marketplace have counted as valid, while one of them was about users.
type validClick struct {
	market        uint16
	user          uint64
	campaign, bid uint32
	millis        int64
}

// valid is the reason of events that are not invalid.
const valid = -1

// reasonOf returns why a click is invalid, or valid.
func (m *Model) reasonOf(c *Campaign, r *command.EventRecord) int {
	settings := m.Marketplaces[marketOf(c)]
	if c == nil || settings == nil || r.Kind != event.Click {
		return valid
	}
	rules := settings.ClickRules
	if r.Rank != 0 && int(r.AgeSeconds) < int(rules.MinSeconds) {
		return int(rollup.TooSoon)
	}
	if r.Rank != 0 && rules.MaxHours != 0 && int(r.AgeSeconds) > 3_600*int(rules.MaxHours) {
		return int(rollup.TooLate)
	}
	aboutUsers := int(rules.RepeatSeconds) + int(rules.PerCampaignHour) + int(rules.PerUserHour) + int(rules.PerUserDay)
	if r.UserHash == 0 || aboutUsers == 0 {
		return valid
	}
	repeated, campaignHour, hour, day := 0, 0, 0, 0
	for _, x := range m.validClicks {
		if x.market != c.Marketplace || x.user != r.UserHash {
			continue
		}
		apart := x.millis - r.OccurredMillis
		if x.campaign == r.Campaign && x.bid == r.Bid && apart < 1_000*int64(rules.RepeatSeconds) && -apart < 1_000*int64(rules.RepeatSeconds) {
			repeated++
		}
		if x.millis/dayMillis == r.OccurredMillis/dayMillis {
			day++
		}
		if x.millis/hourMillis == r.OccurredMillis/hourMillis {
			hour++
			if x.campaign == r.Campaign {
				campaignHour++
			}
		}
	}
	switch {
	case repeated > 0:
		return int(rollup.Repeated)
	case rules.PerCampaignHour != 0 && campaignHour >= int(rules.PerCampaignHour):
		return int(rollup.ByCampaignHour)
	case rules.PerUserHour != 0 && hour >= int(rules.PerUserHour):
		return int(rollup.ByUserHour)
	case rules.PerUserDay != 0 && day >= int(rules.PerUserDay):
		return int(rollup.ByUserDay)
	}
	m.validClicks = append(m.validClicks, validClick{c.Marketplace, r.UserHash, r.Campaign, r.Bid, r.OccurredMillis})
	return valid
}

// marketOf returns the marketplace of a campaign, 0 of none.
func marketOf(c *Campaign) uint16 {
	if c == nil {
		return 0
	}
	return c.Marketplace
}

// clickRules returns rules whose bounds the events of a generator reach and miss by one.
func (g *Generator) clickRules() model.ClickRules {
	if g.Model.Level < command.LevelInvalidTraffic {
		return model.ClickRules{}
	}
	few := func(what string) uint8 { return []uint8{0, 0, 1, 2}[g.choose(4, what)] }
	return model.ClickRules{
		MinSeconds: []uint8{0, 0, 20, 21}[g.choose(4, "least age")], MaxHours: []uint8{0, 0, 1, 167}[g.choose(4, "greatest age")],
		RepeatSeconds:   []uint16{0, 0, 5, 10_800, 10_801}[g.choose(5, "interval of clicks")],
		PerCampaignHour: few("clicks on a campaign"), PerUserHour: few("clicks in an hour"), PerUserDay: few("clicks on a day"),
	}
}

// ClickStep returns a command about clicks and the rules by which they are invalid.
func (g *Generator) ClickStep() Step {
	g.tick()
	kinds := []func() Step{
		g.events, g.events, g.events, g.events, g.events, g.events, g.create, g.adjust, g.advance, g.marketplace, g.forgetUser, g.credits,
	}
	return g.attempt(kinds[g.choose(len(kinds), "command")]())
}
