package pacing

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

// BenchmarkTick100000 is one second of a leader with 100,000 campaigns. They have plans and states of their own, as in
// a node, so that memory is part of the figure. A leader ticks only some of its campaigns each second; see node/pacer.
func BenchmarkTick100000(b *testing.B) {
	const campaigns = 100_000
	curve, params := benchCurve(), Defaults()
	states, plans, decisions := make([]State, campaigns), make([]Plan, campaigns), make([]Decision, campaigns)
	for i := range plans {
		budget := money.Micros(1_000_000 * (1 + i%1000))
		plans[i] = Plan{Budget: budget, EndMillis: 24 * hourMillis, Mode: Even}
	}
	now := int64(6 * hourMillis)
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		if now > 23*hourMillis {
			now = 6 * hourMillis
			clear(states)
			for i := range plans {
				plans[i].Spent = 0
			}
		}
		for i := range states {
			served := Served{Auctions: 500}
			if uint64(i)%16 == uint64(now/1000)%16 {
				served.Wins, served.Expected = 1, 4_000
				plans[i].Spent += 3_000
			}
			decisions[i] = states[i].Tick(now, &plans[i], served, curve, &params)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/campaigns, "ns/campaign")
}

func benchCurve() *Curve {
	w := UniformWeights()
	for i := range w.Hours {
		w.Hours[i] = uint32(WeightOne/2 + WeightOne/24*(i%24))
	}
	w.Level = 500 * 3600 << 8
	return NewCurve(&w, UTC, nil, 0, Horizon)
}
