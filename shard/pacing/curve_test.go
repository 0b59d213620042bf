package pacing

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// days in which clocks change, one where they do not, and zones whose offset is no whole hour.
var zoneDays = []struct {
	zone, date string
	hours      float64
}{
	{"Europe/Berlin", "2026-03-29", 23},
	{"Europe/Berlin", "2026-10-25", 25},
	{"Europe/Berlin", "2026-07-14", 24},
	{"America/New_York", "2026-03-08", 23},
	{"America/New_York", "2026-11-01", 25},
	{"Australia/Lord_Howe", "2026-10-04", 23.5},
	{"Australia/Lord_Howe", "2026-04-05", 24.5},
	{"Asia/Kathmandu", "2026-05-05", 24},
	{"America/Sao_Paulo", "2018-11-04", 23}, // Midnight does not exist.
	{"UTC", "2026-12-31", 24},
}

func location(t testing.TB, name string) *time.Location {
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// distinct are weights of which no two hours are alike, so that a curve that is an hour off shows.
func distinct() (w Weights) {
	for i := range w.Hours {
		w.Hours[i] = uint32(WeightOne/2 + i*WeightOne/HoursOfWeek)
	}
	return w
}

// naive integrates the weights minute by minute with package time.
func naive(w *Weights, l *time.Location, dates []DateFactor, from, to time.Time) (sum float64) {
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		local := at.In(l)
		hour := (int(local.Weekday())+6)%7*24 + local.Hour()
		year, month, day := local.Date()
		factor := 1.0
		for _, d := range dates {
			if d.Day == time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()/daySeconds {
				factor = d.Factor
			}
		}
		sum += float64(w.Hours[hour]) / WeightOne / 60 * factor
	}
	return sum
}

func TestCurveFollowsLocalHours(t *testing.T) {
	w := distinct()
	for _, d := range zoneDays {
		l := location(t, d.zone)
		noon, err := time.ParseInLocation(time.DateTime, d.date+" 12:00:00", l)
		if err != nil {
			t.Fatal(err)
		}
		start, end := Bounds(Day, zoneOf(l), noon.UnixMilli())
		if hours := float64(end-start) / hourMillis; hours != d.hours {
			t.Errorf("%s %s has %v hours, want %v", d.zone, d.date, hours, d.hours)
		}
		dates := []DateFactor{{Day: noon.Unix() / daySeconds, Factor: 2.5}}
		if d.zone == "UTC" {
			dates = nil
		}
		c := NewCurve(&w, zoneOf(l), dates, start-3*dayMillis, end+3*dayMillis)
		for at := start - 30*hourMillis; at < end+30*hourMillis; at += 7 * 60_000 {
			got := c.Share(start-40*hourMillis, at)
			want := naive(&w, l, dates, time.UnixMilli(start-40*hourMillis), time.UnixMilli(at))
			if math.Abs(got-want) > 1e-9*want {
				local := time.UnixMilli(at).In(l)
				t.Fatalf("%s %s: until %v the share is %v, want %v", d.zone, d.date, local, got, want)
			}
		}
	}
}

// Outside of the time that a curve was made for, hours are average ones, and no share is negative.
func TestCurveOutsideItsTime(t *testing.T) {
	w := distinct()
	c := NewCurve(&w, UTC, nil, 1000*hourMillis, 1100*hourMillis)
	for _, test := range []struct {
		from, to int64
		want     float64
	}{
		{900, 910, 10},
		{1200, 1230, 30},
		{990, 1000, 10},
		{1100, 1110, 10},
		{1050, 1050, 0},
		{1060, 1050, 0},
		{-5, 0, 0},
		{math.MinInt64 / hourMillis, 0, 0},
	} {
		if got := c.Share(test.from*hourMillis, test.to*hourMillis); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("from %d to %d the share is %v, want %v", test.from, test.to, got, test.want)
		}
	}
	inside := c.Share(1000*hourMillis, 1100*hourMillis)
	if got := c.Share(990*hourMillis, 1110*hourMillis); math.Abs(got-inside-20) > 1e-9 {
		t.Errorf("over the borders the share is %v, want %v", got, inside+20)
	}
	if got := Uniform().Share(3*hourMillis, 7*hourMillis+hourMillis/2); math.Abs(got-4.5) > 1e-9 {
		t.Errorf("4.5 uniform hours are %v", got)
	}
	if got := NewCurve(&w, UTC, nil, 2000, 1000).Share(0, hourMillis); math.Abs(got-1) > 0.5 {
		t.Errorf("a curve of no time has the share %v in an hour", got)
	}
}

// Shares are additive and never negative, whatever the curve.
func TestCurveShareIsAdditive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var w Weights
		for i := range w.Hours {
			w.Hours[i] = r.Uint32() >> r.UintN(32)
		}
		dates := []DateFactor{{Day: r.Int64N(10), Factor: 3 * r.Float64()}, {Day: r.Int64N(10), Factor: math.NaN()}}
		offset := (r.Int64N(107) - 48) * 900
		zone := func(utc int64) int64 { return offset + utc/500_000*900%1800 }
		c := NewCurve(&w, zone, dates, r.Int64N(5*dayMillis), r.Int64N(12*dayMillis))
		a, b, d := r.Int64N(12*dayMillis), r.Int64N(12*dayMillis), r.Int64N(12*dayMillis)
		a, b = min(a, b), max(a, b)
		b, d = min(b, d), max(b, d)
		a, b = min(a, b), max(a, b)
		whole, parts := c.Share(a, d), c.Share(a, b)+c.Share(b, d)
		if c.Share(a, b) < 0 || c.Share(b, d) < 0 || math.Abs(whole-parts) > 1e-9*(1+whole) {
			t.Fatalf("the share %v is not the sum of its parts, %v", whole, parts)
		}
	}
}

func TestDateFactorsAreBounded(t *testing.T) {
	w := UniformWeights()
	share := func(factor float64) float64 {
		return NewCurve(&w, UTC, []DateFactor{{Day: 1, Factor: factor}}, 0, 3*dayMillis).Share(dayMillis, 2*dayMillis)
	}
	for factor, want := range map[float64]float64{0: 0, 0.5: 12, 1: 24, 1e9: 2400, -1: 0, math.Inf(1): 2400} {
		if got := share(factor); math.Abs(got-want) > 1e-9 {
			t.Errorf("with the factor %v a day has %v average hours, want %v", factor, got, want)
		}
	}
	if got := share(math.NaN()); math.Abs(got-24) > 1e-9 {
		t.Errorf("with a factor that is no number a day has %v average hours", got)
	}
}

func BenchmarkNewCurve(b *testing.B) {
	w, zone := distinct(), zoneOf(location(b, "Europe/Berlin"))
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	b.ReportAllocs()
	for b.Loop() {
		NewCurve(&w, zone, nil, now-Horizon, now+Horizon)
	}
}
