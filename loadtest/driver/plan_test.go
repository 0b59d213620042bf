package driver_test

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

func parse(t *testing.T, text string, d time.Duration) driver.Plan {
	t.Helper()
	p, err := driver.ParsePlan(text, d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// count reads a plan to its end and checks that due times never decrease.
func count(t *testing.T, p driver.Plan, visit func(i int64, due time.Duration)) int64 {
	t.Helper()
	last := time.Duration(-1)
	for i := int64(0); ; i++ {
		due, ok := p.Due(i)
		if !ok {
			return i
		}
		if due < last || due >= p.Duration() {
			t.Fatalf("request %d is due at %v after %v", i, due, last)
		}
		last = due
		visit(i, due)
	}
}

func TestConstantIsEvenlySpaced(t *testing.T) {
	n := count(t, parse(t, "200", 3*time.Second), func(i int64, due time.Duration) {
		if want := time.Duration(i) * 5 * time.Millisecond; (due - want).Abs() > time.Microsecond {
			t.Fatalf("request %d due at %v, want %v", i, due, want)
		}
	})
	if n != 600 {
		t.Fatalf("%d requests, want 600", n)
	}
}

func TestRampSendsTheAreaUnderItsLine(t *testing.T) {
	for text, want := range map[string]int64{"100..300": 800, "300..100": 800, "0..200": 400, "200..0": 400} {
		half := int64(0)
		n := count(t, parse(t, text, 4*time.Second), func(_ int64, due time.Duration) {
			if due < 2*time.Second {
				half++
			}
		})
		if n < want-1 || n > want+1 {
			t.Errorf("%s: %d requests, want %d", text, n, want)
		}
		rising := text[0] == '0' || text == "100..300"
		if rising == (half > n/2) {
			t.Errorf("%s: %d of %d requests in the first half", text, half, n)
		}
	}
}

func TestBurstsAreDueTogether(t *testing.T) {
	at := map[time.Duration]int{}
	n := count(t, parse(t, "100x20", time.Second), func(_ int64, due time.Duration) { at[due]++ })
	if n != 100 || len(at) != 5 {
		t.Fatalf("%d requests at %d instants, want 100 at 5", n, len(at))
	}
}

// A course sends its mean rate over the duration, and its busiest part is where it should be.
func TestCoursesKeepTheirMean(t *testing.T) {
	for _, c := range []struct {
		text       string
		begin, end time.Duration // A busy part of 48 s.
		least      int64         // How many of 4,800 requests lie in it at least.
	}{
		{"day:100", 38 * time.Second, 42 * time.Second, 650},
		{"crowd:100", 19 * time.Second, 34 * time.Second, 3_000},
	} {
		busy := int64(0)
		n := count(t, parse(t, c.text, 48*time.Second), func(_ int64, due time.Duration) {
			if due >= c.begin && due < c.end {
				busy++
			}
		})
		if n < 4_799 || n > 4_801 || busy < c.least {
			t.Errorf("%s: %d requests, want 4800; %d in the busy part", c.text, n, busy)
		}
	}
}

func TestClosedHasNoSchedule(t *testing.T) {
	p := parse(t, "0", time.Minute)
	if p.Open() || p.Duration() != time.Minute {
		t.Fatalf("open %v, duration %v", p.Open(), p.Duration())
	}
}

func TestRefusals(t *testing.T) {
	for _, text := range []string{"", "x", "-1", "NaN", "Inf", "1..", "0..0", "..5", "1..-3", "1..NaN", "5x0", "0x5", "5x1.5", "1x2x3", "day:", "day:0", "day:-1", "night:5", ":5", "day:Inf", "day:NaN"} {
		if p, err := driver.ParsePlan(text, time.Second); err == nil {
			t.Errorf("%q was read as %+v", text, p)
		}
	}
	if _, err := driver.ParsePlan("5", 0); err == nil {
		t.Error("a duration of 0 was accepted")
	}
}
