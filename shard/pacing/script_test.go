package pacing

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/gavel-ads/gavel/shard/money"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of testdata/*.txt as they are now")

// TestScripts plays the scenarios of testdata/*.txt in a market without chance: full bids would spend demand x budget
// over the plan in proportion to traffic, spend falls with the square of the factor of the bids, and every expected
// click comes after the click delay. A scenario is a line of settings, lines of events, and the table that follows from
// them. Numbers may differ by one in the last digit, because processors round differently.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			script, want, _ := strings.Cut(string(text), "\n---\n")
			got := newScript(t, script).play()
			if *rewrite {
				if err := os.WriteFile(name, []byte(script+"\n---\n"+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			compareTables(t, got, want)
		})
	}
}

func compareTables(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(g) != len(w) {
		t.Fatalf("%d lines, want %d:\n%s", len(g), len(w), got)
	}
	for i := range g {
		a, b := strings.Fields(g[i]), strings.Fields(w[i])
		same := len(a) == len(b)
		for k := 0; same && k < len(a); k++ {
			x, errX := strconv.ParseFloat(a[k], 64)
			y, errY := strconv.ParseFloat(b[k], 64)
			same = a[k] == b[k] || errX == nil && errY == nil && math.Abs(x-y) < 0.11
		}
		if !same {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
}

// script is a scenario and its market.
type script struct {
	t        *testing.T
	settings map[string]string
	events   map[time.Duration][]string

	zone         Zone
	begin        int64 // Time of the first tick.
	known, truth *Curve
	params       Params
	plan         Plan
	state        State
	decision     Decision

	schedule [HoursOfWeek]bool // Hours in which the campaign competes, when the script has a schedule.
	perHour  float64           // Expected cost of full bids in an average hour.
	surge    float64
	factor   float64 // Of full bids, by edits of the bid.
	open     float64 // Expected cost of ads that are not clicked yet.
	fraction float64 // Of a micro-unit.
	out      strings.Builder
}

func newScript(t *testing.T, text string) *script {
	s := &script{
		t: t, settings: map[string]string{}, events: map[time.Duration][]string{},
		surge: 1, factor: 1, params: Defaults(),
	}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "at":
			s.events[s.duration(words[1])] = append(s.events[s.duration(words[1])], strings.Join(words[2:], " "))
		default:
			for _, word := range words {
				name, value, ok := strings.Cut(word, "=")
				if !ok {
					t.Fatalf("%q is not a setting", word)
				}
				s.settings[name] = value
			}
		}
	}
	s.prepare()
	return s
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) number(name string, otherwise float64) float64 {
	if s.settings[name] == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(s.settings[name], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func (s *script) text(name, otherwise string) string {
	if v := s.settings[name]; v != "" {
		return v
	}
	return otherwise
}

// prepare sets the campaign, the plan and the market up.
func (s *script) prepare() {
	location, err := time.LoadLocation(s.text("zone", "UTC"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.zone = zoneOf(location)
	date, err := time.ParseInLocation(time.DateOnly, s.text("date", "2026-06-01"), location)
	if err != nil {
		s.t.Fatal(err)
	}
	s.begin = date.UnixMilli()
	s.params.ClickDelay = s.number("delay", s.params.ClickDelay)

	truth := onePeak()
	truth.Level = 1000 * 3600 << 8 // serve has 1,000 auctions in an average second.
	window := func(w *Weights) *Curve { return NewCurve(w, s.zone, nil, s.begin-dayMillis, s.begin+Horizon) }
	s.truth, s.known = window(&truth), window(&truth)
	if s.text("schedule", "") != "" {
		for hour := range s.schedule {
			s.schedule[hour] = hour%24 >= int(s.number("schedule", 0)) && hour%24 < 17
		}
		own := truth.During(&s.schedule)
		s.truth, s.known = window(&own), window(&own)
	}
	if s.text("curve", "known") == "uniform" {
		s.known = Uniform()
	}

	s.plan.Mode = map[string]Mode{"even": Even, "fast": Fast, "unlimited": Unlimited}[s.text("mode", "even")]
	s.plan.Budget = money.Micros(s.number("budget", 100) * float64(money.PerMajor))
	s.roll(s.begin)
	s.plan.StartMillis += s.duration(s.text("start", "0h")).Milliseconds()
	if end := s.text("end", ""); end != "" {
		s.plan.EndMillis = s.begin + s.duration(end).Milliseconds()
	}
	hours := s.truth.Share(s.plan.StartMillis, s.plan.EndMillis)
	s.perHour = s.number("demand", 4) * s.number("budget", 100) * float64(money.PerMajor) / hours
}

const dayMillis = 24 * hourMillis

func zoneOf(l *time.Location) Zone {
	return func(utcSeconds int64) int64 {
		_, offset := time.Unix(utcSeconds, 0).In(l).Zone()
		return int64(offset)
	}
}

// roll sets the bounds of the period and the day at a time.
func (s *script) roll(now int64) {
	span := map[string]Span{"daily": Day, "weekly": Week, "monthly": Month}[s.text("period", "daily")]
	s.plan.StartMillis, s.plan.EndMillis = Bounds(span, s.zone, now)
	if span != Day || s.text("end", "") != "" {
		s.plan.DayStartMillis, s.plan.DayEndMillis = Bounds(Day, s.zone, now)
	}
}

// play runs the scenario and returns its table.
func (s *script) play() string {
	const tick = 1000
	hours := s.duration(s.text("hours", "24h")).Milliseconds()
	every := s.duration(s.text("every", "2h")).Milliseconds()
	fmt.Fprintf(&s.out, "%6s %8s %8s %8s %8s %8s  %s\n", "hour", "planned", "billed", "hold", "bids", "pass", "status")
	var served Served
	for at := int64(0); at <= hours; at += tick {
		now := s.begin + at
		s.step(now, time.Duration(at)*time.Millisecond)
		s.decision = s.state.Tick(now, &s.plan, served, s.known, &s.params)
		if at%every == 0 {
			s.row(now, at)
		}
		served = s.serve(now, tick)
	}
	return s.out.String()
}

// step lets a new day begin and applies the events of a time.
func (s *script) step(now int64, at time.Duration) {
	if now >= s.plan.EndMillis && s.text("end", "") == "" {
		s.roll(now)
		s.plan.Period, s.plan.Spent = s.plan.Period+1, 0
	}
	if s.plan.DayEndMillis > 0 && now >= s.plan.DayEndMillis {
		s.plan.DayStartMillis, s.plan.DayEndMillis = Bounds(Day, s.zone, now)
	}
	if start := s.text("start", ""); start != "" || s.text("end", "") != "" {
		s.plan.Paused = now < s.plan.StartMillis || now >= s.plan.EndMillis
	}
	if _, hour := localHour(now/1000, s.zone); s.text("schedule", "") != "" {
		s.plan.Paused = !s.schedule[hour]
	}
	for _, event := range s.events[at] {
		name, value, _ := strings.Cut(event, " ")
		v, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "budget":
			s.plan.Budget = money.Micros(v * float64(money.PerMajor))
		case "bid":
			s.factor = v
		case "surge":
			s.surge = v
		case "pause":
			s.plan.Paused = true
		case "resume":
			s.plan.Paused = false
		case "wallet":
			s.plan.WalletEmpty = value == "empty"
		case "leader":
			s.state = Restore(s.state.Memory())
		default:
			s.t.Fatalf("unknown event %q", event)
		}
		fmt.Fprintf(&s.out, "%6.1f %s\n", at.Hours(), event)
	}
}

// serve returns what the market sells until the next tick, and bills the clicks of what it sold before.
func (s *script) serve(now, tick int64) Served {
	share := s.truth.Share(now, now+tick) * s.surge
	served := Served{Auctions: uint64(1000 * share * 3600)}
	hold := float64(s.decision.Hold)
	if free := float64(s.plan.cap()-s.plan.Spent) - hold; s.plan.active() && (free > 0 || s.plan.Mode == Unlimited) {
		pass, multiplier := Split(s.decision.Word)
		spend := s.perHour * share * s.factor * s.factor * pass * multiplier * multiplier
		if s.plan.Mode != Unlimited {
			spend = min(spend, free)
		}
		served.Expected = money.Micros(math.Round(spend))
		served.Wins = served.Auctions / 20
	}
	clicks := s.open / s.params.ClickDelay * float64(tick) / 1000
	s.open += float64(served.Expected) - clicks
	s.fraction += clicks
	s.plan.Spent += money.Micros(s.fraction)
	s.fraction -= math.Floor(s.fraction)
	return served
}

func (s *script) row(now, at int64) {
	pass, multiplier := Split(s.decision.Word)
	total := max(float64(s.plan.cap()), 1)
	planned := 100.0
	if all := s.truth.Share(s.plan.StartMillis, s.plan.EndMillis); all > 0 {
		planned = 100 * min(s.truth.Share(s.plan.StartMillis, now)/all, 1)
	}
	if s.plan.Mode != Even {
		planned = 0
	}
	if s.plan.Mode == Unlimited {
		total = s.number("budget", 100) * float64(money.PerMajor)
	}
	fmt.Fprintf(&s.out, "%6.1f %8.1f %8.1f %8.2f %8.1f %8.1f  %s\n", float64(at)/hourMillis, planned,
		100*float64(s.plan.Spent)/total, 100*float64(s.decision.Hold)/total, 100*multiplier, 100*pass, s.decision.Status)
}
