package pacing

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

// A state that is restored from its memory at any time decides like the original within rounding. Only a surge is not in the
// memory: a new leader finds it again within minutes, so there is none here.
func TestRestoreContinues(t *testing.T) {
	for seed := range uint64(100) {
		p := newPlayed(seed)
		p.jump, p.params.SurgeMax = gapMax*1000, math.Inf(1)
		var s, restored State
		for i := range 2000 {
			p.next()
			if i%250 == 0 {
				restored = Restore(s.Memory())
			}
			want := s.Tick(p.now, &p.plan, p.served, p.curve, &p.params)
			got := restored.Tick(p.now, &p.plan, p.served, p.curve, &p.params)
			wantPass, wantMultiplier := Split(want.Word)
			pass, multiplier := Split(got.Word)
			if math.Abs(pass-wantPass) > 1e-3 || math.Abs(multiplier-wantMultiplier) > 1e-3*wantMultiplier ||
				max(got.Hold-want.Hold, want.Hold-got.Hold) > 3 || got.Status != want.Status {
				t.Fatalf("seed %d, tick %d: restored %+v, original %+v", seed, i, got, want)
			}
		}
	}
}

// Memory and Restore are the inverse of each other, but for rounding, and carry every member.
func TestMemoryCarriesEveryMember(t *testing.T) {
	m := Memory{
		AtMillis: 1, Period: 2, Aggressiveness: -3 << 20, Opening: -4 << 20, Steered: 18, HoldFast: 5, HoldSlow: 6, WinRate: 7, Cost: 8,
		Traffic: 9, Seen: 10, SeenHours: 11, Cap: 12, DayStartMillis: 13, DaySpent: 14, Behind: -19, Used: 20, Counted: 15, Skip: 16, Multiplier: 17,
		Wins: 21,
	}
	v := reflect.ValueOf(m)
	for i := range v.NumField() {
		if v.Field(i).IsZero() && v.Type().Field(i).Name != "Return" { // The caller adds it.
			t.Errorf("the test leaves %s out", v.Type().Field(i).Name)
		}
	}
	s := Restore(m)
	if got := s.Memory(); got != m {
		t.Errorf("memory %+v comes back as %+v", m, got)
	}
	if s := Restore(Memory{}); s != (State{}) {
		t.Errorf("no memory restores %+v", s)
	}
	if m := new(State).Memory(); m != (Memory{}) {
		t.Errorf("a state that never ticked has the memory %+v", m)
	}
}

// The decisions of a day with a new leader every minute are those of a day with one.
func TestManyLeadersDoNotDrift(t *testing.T) {
	run := func(restore bool) money.Micros {
		p := Defaults()
		plan := Plan{Mode: Even, Budget: 1e9, EndMillis: dayMillis}
		var s State
		served := Served{}
		for now := int64(0); now < dayMillis; now += 1000 {
			if restore && now%60_000 == 0 {
				s = Restore(s.Memory())
			}
			pass, multiplier := Split(s.Tick(now, &plan, served, Uniform(), &p).Word)
			cost := money.Micros(8 * 1e9 / 86400 * pass * multiplier * multiplier)
			served = Served{Expected: cost, Wins: 3, Auctions: 100}
			plan.Spent = min(plan.Spent+cost, plan.Budget)
			if now == dayMillis/2 {
				return plan.Spent
			}
		}
		return plan.Spent
	}
	one, many := run(false), run(true)
	if d := math.Abs(float64(one - many)); d > 1e-4*float64(one) {
		t.Errorf("at noon %v is billed under one leader and %v under many", one, many)
	}
}

// A memory of hours ago gives the old aggressiveness and no hold, and does not take the time since for one without
// traffic.
func TestRestoreOfAnOldMemory(t *testing.T) {
	p := Defaults()
	w := UniformWeights()
	w.Level = 100 * 3600 << 8
	curve := NewCurve(&w, UTC, nil, 0, 2*dayMillis)
	plan := Plan{Mode: Even, Budget: 1e9, EndMillis: dayMillis}
	var s State
	served := Served{}
	tick := func(now int64) Decision {
		d := s.Tick(now, &plan, served, curve, &p)
		pass, multiplier := Split(d.Word)
		cost := money.Micros(8 * 1e9 / 86400 * pass * multiplier * multiplier)
		served = Served{Expected: cost, Wins: 3, Auctions: 100}
		plan.Spent += cost
		return d
	}
	for now := int64(0); now < 8*hourMillis; now += 1000 {
		tick(now)
	}
	_, before := Split(tick(8 * hourMillis).Word)
	s = Restore(s.Memory())
	plan.Spent += plan.Budget / 8 // The old leader went on for three hours at the same aggressiveness.
	served = Served{Auctions: 100}
	d := tick(11 * hourMillis)
	_, after := Split(d.Word)
	if math.Abs(after-before) > 1e-6 || d.Hold > 100 {
		t.Errorf("restored after three hours: factor %v, hold %v; before it was %v", after, d.Hold, before)
	}
	for now := int64(11*hourMillis + 1000); now < 12*hourMillis; now += 1000 {
		_, after = Split(tick(now).Word)
	}
	if math.Abs(after-before) > 0.05*before {
		t.Errorf("an hour later the factor is %v, before it was %v", after, before)
	}
}

// FuzzRestoreTick restores any memory and ticks it with any arguments: no panic, no NaN, no word above 1.0, no negative
// hold.
func FuzzRestoreTick(f *testing.F) {
	f.Add(make([]byte, 300))
	seed := make([]byte, 300)
	for i := range seed {
		seed[i] = byte(i * 37)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int64 {
			var b [8]byte
			data = data[copy(b[:], data):]
			return int64(binary.LittleEndian.Uint64(b[:]))
		}
		var m Memory
		v := reflect.ValueOf(&m).Elem()
		for _, field := range v.Fields() {
			if field.Kind() == reflect.Struct {
				continue // Of Returns; see TestReturnsKeepTheirBounds.
			}
			if field.CanInt() {
				field.SetInt(next() >> (64 - field.Type().Bits()))
			} else {
				field.SetUint(uint64(next()) >> (64 - field.Type().Bits()))
			}
		}
		s := Restore(m)
		w := distinct()
		w.Level = uint64(next())
		curve := NewCurve(&w, UTC, nil, 0, dayMillis)
		p := Defaults()
		for len(data) > 0 {
			plan := Plan{
				Budget: money.Micros(next()), Carry: money.Micros(next()), Spent: money.Micros(next()), Period: uint32(next()),
				StartMillis: next(), EndMillis: next(), DayStartMillis: next(), DayEndMillis: next(), Ceiling: uint32(next()),
			}
			bits := next()
			plan.Mode, plan.Paused, plan.WalletEmpty = Mode(bits&3), bits&4 != 0, bits&8 != 0
			served := Served{Expected: money.Micros(next()), Wins: uint64(next()), Auctions: uint64(next())}
			checkDecision(t, s.Tick(next(), &plan, served, curve, &p))
			checkFinite(t, &s)
			s = Restore(s.Memory())
		}
	})
}

func checkFinite(t testing.TB, s *State) {
	t.Helper()
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.CanFloat() && (math.IsNaN(f.Float()) || math.IsInf(f.Float(), 0)) {
			t.Fatalf("%s is %v", v.Type().Field(i).Name, f.Float())
		}
	}
	if s.aggressiveness > 1 {
		t.Fatalf("the aggressiveness is %v", s.aggressiveness)
	}
}
