package wire

import "time"

// instant parses an ISO 8601 date-time into milliseconds since 1970 UTC: YYYY-MM-DDThh:mm:ss, an optional fraction of any
// length after . or , (truncated to milliseconds), and an optional offset Z, ±hh:mm or ±hhmm; without an offset it is UTC.
// T and Z may be in lower case. A leap second (:60) is read as the second after it, as in Unix time. Years from 0000 to
// 9999 are accepted, and the Gregorian calendar is continued before 1582, as ISO 8601 requires.
func instant(text []byte) (millis int64, ok bool) {
	// 2006-01-02T15:04:05 is 19 bytes.
	if len(text) < 19 || text[4] != '-' || text[7] != '-' || text[10]|0x20 != 't' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	days, ok := date(text[:10])
	hour, minute, second := twoDigits(text[11:]), twoDigits(text[14:]), twoDigits(text[17:])
	if !ok || !allDigits(text[11:13], text[14:16], text[17:19]) || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	fraction, rest, ok := fractionMillis(text[19:])
	if !ok {
		return 0, false
	}
	offset, ok := offsetMinutes(rest)
	if !ok {
		return 0, false
	}
	minutes := (days*24+int64(hour))*60 + int64(minute) - offset
	return minutes*60_000 + int64(second)*1_000 + fraction, true
}

const secondsPerDay = 24 * 60 * 60

// date parses YYYY-MM-DD into days since 1970.
func date(text []byte) (day int64, ok bool) {
	if len(text) != 10 || text[4] != '-' || text[7] != '-' || !allDigits(text[:4], text[5:7], text[8:]) {
		return 0, false
	}
	year, month, of := 100*twoDigits(text)+twoDigits(text[2:]), twoDigits(text[5:]), twoDigits(text[8:])
	midnight := time.Date(year, time.Month(month), of, 0, 0, 0, 0, time.UTC)
	if _, m, d := midnight.Date(); m != time.Month(month) || d != of {
		return 0, false // time.Date takes 30 February as a day of March.
	}
	return midnight.Unix() / secondsPerDay, true
}

// twoDigits returns the number that the first two bytes of text spell. It is meaningless if they are not digits.
func twoDigits(text []byte) int { return 10*int(text[0]-'0') + int(text[1]-'0') }

func allDigits(parts ...[]byte) bool {
	for _, part := range parts {
		for _, c := range part {
			if c-'0' > 9 {
				return false
			}
		}
	}
	return true
}

// fractionMillis parses an optional fraction of a second and returns the text after it.
func fractionMillis(text []byte) (millis int64, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '.' && text[0] != ',' {
		return 0, text, true
	}
	end := digits(text, 1)
	for i := 1; i <= 3; i++ {
		millis *= 10
		if i < end {
			millis += int64(text[i] - '0')
		}
	}
	return millis, text[end:], end > 1
}

// offsetMinutes parses the offset from UTC; no text is an offset of 0. REQUIRES: text is the rest of the date-time.
func offsetMinutes(text []byte) (minutes int64, ok bool) {
	if len(text) == 0 || len(text) == 1 && text[0]|0x20 == 'z' {
		return 0, true
	}
	sign := text[0]
	if sign != '+' && sign != '-' {
		return 0, false
	}
	text = text[1:]
	var hour, minute []byte
	switch {
	case len(text) == 5 && text[2] == ':':
		hour, minute = text[:2], text[3:]
	case len(text) == 4:
		hour, minute = text[:2], text[2:]
	default:
		return 0, false
	}
	if !allDigits(hour, minute) || twoDigits(hour) > 23 || twoDigits(minute) > 59 {
		return 0, false
	}
	minutes = int64(60*twoDigits(hour) + twoDigits(minute))
	if sign == '-' {
		minutes = -minutes
	}
	return minutes, true
}
