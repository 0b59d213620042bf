package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// A marketplace may have rules by which clicks on ads are invalid (model.ClickRules). A click that a rule catches is
// known by its id as any event, and counted in its cell by the rule. It has no other effect: it charges nothing and
// leaves its token to a valid click, it is no touch, teaches nothing, and counts for no frequency cap.
//
// The rules about users need the valid clicks of a user. They are stored by the UTC day and user, and dropped with the
// day. They are written only while such a rule is on, and a click that is invalid writes none, so that a robot does not
// make the state grow.

// userClicksMax bounds the valid clicks of a user and UTC day that a group remembers. BOUND: a click reads and writes all
// of them, some 10 bytes each. No rule allows as many; without a rule that bounds clicks, the ones reported first are
// forgotten, and a click may repeat one of them.
const userClicksMax = 256

// userClicksDaysKept is how many UTC days, the current one included, clicks of users are kept: events are counted for 30
// days (event.CountMillis), which touch 31 days, and the interval of repeated clicks may reach into the day before.
const userClicksDaysKept = event.CountMillis/dayMillis + 2

// userClick is a valid click of a user.
type userClick struct {
	millis        uint32 // Of the UTC day on which it occurred.
	campaign, bid uint32 // Ordinals.
}

// setClickRules takes over the rules of a marketplace.
func (t *tenant) setClickRules(x *model.Marketplace) {
	t.clickRules = nil
	if x.ClickRules != (model.ClickRules{}) {
		t.clickRules = new(x.ClickRules)
	}
}

// catchClick reports whether a rule finds a click invalid, and which. It remembers a click that is valid, if a rule needs
// it. Events of other kinds, and clicks without a campaign, which nobody pays for, are always valid.
func (m *Machine) catchClick(rules *model.ClickRules, c *campaign, r *command.EventRecord) (why rollup.InvalidReason, caught bool) {
	if c == nil || r.Kind != event.Click {
		return 0, false
	}
	if r.Rank > 0 { // Otherwise the age is not known.
		switch maxSeconds := uint32(rules.MaxHours) * 3600; {
		case r.AgeSeconds < uint32(rules.MinSeconds):
			return rollup.TooSoon, true
		case maxSeconds > 0 && r.AgeSeconds > maxSeconds:
			return rollup.TooLate, true
		}
	}
	if r.UserHash == 0 || !rules.CountUsers() {
		return 0, false
	}
	day, millis := dayOf(r.OccurredMillis), uint32(max(r.OccurredMillis, 0)%dayMillis) // Less than a day.
	click := userClick{millis, r.Campaign, r.Bid}
	of := m.userClicks(day, c.Marketplace, r.UserHash)
	switch perCampaignHour, perHour := countHour(of, &click); {
	case m.isRepeated(rules, c.Marketplace, r, of):
		return rollup.Repeated, true
	case isReached(rules.PerCampaignHour, perCampaignHour):
		return rollup.ByCampaignHour, true
	case isReached(rules.PerUserHour, perHour):
		return rollup.ByUserHour, true
	case isReached(rules.PerUserDay, len(of)):
		return rollup.ByUserDay, true
	}
	if len(of) >= userClicksMax {
		of = of[1:]
	}
	m.putUserClicks(day, c.Marketplace, r.UserHash, append(of, click))
	return 0, false
}

// isReached reports whether there are as many clicks as a rule allows; 0 allows any number.
func isReached(limit uint8, clicks int) bool { return limit > 0 && clicks >= int(limit) }

// countHour counts the clicks of a day that are of the hour of another click: those of its campaign, and all.
func countHour(of []userClick, click *userClick) (perCampaign, all int) {
	const hourMillis = 3_600_000
	for i := range of {
		if of[i].millis/hourMillis != click.millis/hourMillis {
			continue
		}
		all++
		if of[i].campaign == click.campaign {
			perCampaign++
		}
	}
	return perCampaign, all
}

// isRepeated reports whether the user has a valid click on the same ad within the interval of the rule, before or after
// the click, also on the days beside it. of are those of its own day. The interval is less than a day (ClickRules).
func (m *Machine) isRepeated(rules *model.ClickRules, marketplace uint16, r *command.EventRecord, of []userClick) bool {
	at, interval := max(r.OccurredMillis, 0), int64(rules.RepeatSeconds)*1000
	if interval == 0 {
		return false
	}
	own := dayOf(at)
	for day := dayOf(at - interval); day <= dayOf(at+interval); day++ {
		clicks := of
		if day != own {
			clicks = m.userClicks(day, marketplace, r.UserHash)
		}
		for i := range clicks {
			apart := at - (int64(day)*dayMillis + int64(clicks[i].millis))
			if max(apart, -apart) < interval && clicks[i].campaign == r.Campaign && clicks[i].bid == r.Bid {
				return true
			}
		}
	}
	return false
}

// countInvalid counts a click that a rule has caught.
func (m *Machine) countInvalid(c *campaign, r *command.EventRecord, why rollup.InvalidReason) {
	m.key = keyCampaignCell(m.key[:0], c.ID, r.Cell, r.Bid)
	m.cell(m.key).Invalid[why]++
	if places := m.placeOf(m.key, r.Place); places != nil {
		places.Invalid[why]++
	}
}

// userClicks reads the valid clicks of a user on a day, as the batch has left them so far, in the order of their reports.
func (m *Machine) userClicks(day uint32, marketplace uint16, user uint64) []userClick {
	stored, found := m.get(keyUserClicks(nil, day, marketplace, user))
	if !found {
		return nil
	}
	return must(readUserClicks(stored))
}

// putUserClicks stores the valid clicks of a user on a day.
func (m *Machine) putUserClicks(day uint32, marketplace uint16, user uint64, all []userClick) {
	var value []byte
	for i := range all {
		value = binary.AppendUvarint(value, uint64(all[i].millis))
		value = binary.AppendUvarint(value, uint64(all[i].campaign))
		value = binary.AppendUvarint(value, uint64(all[i].bid))
	}
	m.putOfDay(dayIn(tableUserClicks, day), keyUserClicks(nil, day, marketplace, user), value)
}

// forgetUserClicks deletes the clicks of a user.
func (m *Machine) forgetUserClicks(marketplace uint16, user uint64) {
	for _, id := range m.daysOf(tableUserClicks) {
		m.putOfDay(id, keyUserClicks(nil, id.day, marketplace, user), nil)
	}
}

func readUserClicks(value []byte) (all []userClick, err error) {
	d := command.NewDecoder(value)
	for d.More() {
		all = append(all, userClick{uint32(d.Uvarint()), uint32(d.Uvarint()), uint32(d.Uvarint())}) // Written from 32 bits.
	}
	return all, d.Err()
}

func (l *loader) loadUserClicks(key, value []byte) error {
	if l.m.days.all[dayIn(tableUserClicks, binary.BigEndian.Uint32(key[1:]))] == nil {
		return errors.New("clicks of a user without day")
	}
	if all, err := readUserClicks(value); err != nil || len(all) == 0 || len(all) > userClicksMax {
		return errors.New("malformed clicks of a user")
	}
	return nil
}
