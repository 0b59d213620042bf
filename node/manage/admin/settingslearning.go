package admin

import (
	"cmp"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// SettingsTrafficDate is what the operator expects of the traffic of one date.
type SettingsTrafficDate struct {
	Date       string           `json:"date" format:"date" doc:"In the marketplace's time zone; each date at most once."`
	Multiplier resource.Decimal `json:"multiplier" minimum:"0" maximum:"100" doc:"The day's traffic as a multiple of what the weeks before suggest; at most three decimals."`
}

// settingsLearning are the settings of what is learned from events and traffic.
type settingsLearning struct {
	quality *resource.Decimal
	dates   []SettingsTrafficDate
}

func (b *SettingsPatchBody) learning() settingsLearning {
	return settingsLearning{b.LearnedQuality, b.TrafficDates}
}

// validateCrossField checks that numbers have at most three decimals, the precision that is stored, and that no date comes
// twice.
func (x settingsLearning) validateCrossField() (found []resource.Violation) {
	const decimals = "must have at most three decimals"
	if x.quality != nil {
		if _, ok := thousandths(*x.quality); !ok {
			found = append(found, resource.At("value_error", decimals, "body", "learnedQuality"))
		}
	}
	seen := map[uint32]bool{}
	for i := range x.dates {
		day := dayOf(x.dates[i].Date)
		if seen[day] {
			found = append(found, resource.At("value_error", "repeats a date of the list", "body", "trafficDates", i, "date"))
		}
		seen[day] = true
		if _, ok := thousandths(x.dates[i].Multiplier); !ok {
			found = append(found, resource.At("value_error", decimals, "body", "trafficDates", i, "multiplier"))
		}
	}
	return found
}

// apply changes the settings. OWNERSHIP: it replaces the list and does not modify it, because others read the old one.
func (x settingsLearning) apply(m *model.Marketplace) {
	if x.quality != nil {
		exponent, _ := thousandths(*x.quality)
		m.LearnedQualityMilli = uint16(exponent) // At most 1,000.
	}
	if x.dates == nil {
		return
	}
	m.TrafficDates = nil
	for i := range x.dates {
		factor, _ := thousandths(x.dates[i].Multiplier)
		m.TrafficDates = append(m.TrafficDates, model.TrafficDate{Day: dayOf(x.dates[i].Date), FactorMilli: factor})
	}
	slices.SortFunc(m.TrafficDates, func(a, b model.TrafficDate) int { return cmp.Compare(a.Day, b.Day) })
}

func trafficDatesOf(m *model.Marketplace) []SettingsTrafficDate {
	all := make([]SettingsTrafficDate, len(m.TrafficDates))
	for i, x := range m.TrafficDates {
		date := time.Unix(int64(x.Day)*daySeconds, 0).UTC().Format(time.DateOnly)
		all[i] = SettingsTrafficDate{Date: date, Multiplier: decimal(x.FactorMilli)}
	}
	return all
}

const daySeconds = 24 * 60 * 60

// dayOf returns a date as days since 1970-01-01, 0 before. REQUIRES: the schema has checked the date.
func dayOf(date string) uint32 {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0
	}
	return uint32(max(t.Unix(), 0) / daySeconds) // A date has four digits of a year.
}

const microsPerThousandth = money.PerMajor / 1_000

// thousandths returns a number from 0 to 100 in thousandths. ok is false when it has more than three decimals.
func thousandths(d resource.Decimal) (n uint32, ok bool) {
	micros, err := d.Micros()
	if err != nil || micros%microsPerThousandth != 0 {
		return 0, false
	}
	return uint32(micros / microsPerThousandth), true // At most 100,000.
}

func decimal(thousandths uint32) resource.Decimal {
	return resource.Decimal{Text: string(money.AppendDecimal(nil, money.Micros(thousandths)*microsPerThousandth))}
}
