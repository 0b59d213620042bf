package pacing

// Span is the kind of a local time span.
type Span uint8

// The spans. Weeks start on Monday, months on their first day.
const (
	Day Span = iota
	Week
	Month
)

// Bounds returns the start and end of the local day, week or month that contains a moment, in Unix milliseconds. A day
// starts at the first moment that has its date, which is not 0:00 where the clock is set forward at midnight.
func Bounds(span Span, zone Zone, millis int64) (start, end int64) {
	day, _ := localHour(inRange(millis)/1000, zone)
	first, last := day, day+1
	switch span {
	case Day:
	case Week:
		first = day - floorMod(day+3, 7)
		last = first + 7
	case Month:
		year, month, _ := civil(day)
		first = dayOf(year, month, 1)
		last = dayOf(year+month/12, month%12+1, 1)
	}
	return dayStart(first, zone), dayStart(last, zone)
}

// dayStart returns the first moment with the date of a local day or a later one, in milliseconds. Offsets are from -24
// to +16 hours (a zone that crosses the date line skips a day), and clocks change at whole cells.
func dayStart(day int64, zone Zone) int64 {
	const step = cellMillis / 1000
	t := day*daySeconds - 16*3600
	for ; t < day*daySeconds+24*3600; t += step {
		if local, _ := localHour(t, zone); local >= day {
			break
		}
	}
	return t * 1000
}

// civil converts days since 1970-01-01 to a date of the Gregorian calendar, and dayOf back, as in Howard Hinnant's
// "chrono-Compatible Low-Level Date Algorithms": years start in March, so that a leap day is a year's last.
func civil(day int64) (year, month, date int64) {
	day += 719_468
	era := floorDiv(day, 146_097)
	ofEra := day - era*146_097
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36_524 - ofEra/146_096) / 365
	ofYear := ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*ofYear + 2) / 153
	date = ofYear - (153*m+2)/5 + 1
	month = m + 3
	if month > 12 {
		month -= 12
	}
	year = yearOfEra + era*400
	if month <= 2 {
		year++
	}
	return year, month, date
}

func dayOf(year, month, date int64) int64 {
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yearOfEra := year - era*400
	ofYear := (153*((month+9)%12)+2)/5 + date - 1
	return era*146_097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + ofYear - 719_468
}
