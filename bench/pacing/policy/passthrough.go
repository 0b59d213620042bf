package policy

// passThrough is LinkedIn's budget pacing (Agarwal, Ghosh, Wei and You, KDD 2014) with the constants of the paper: each
// minute the probability to compete is multiplied by 1.1 while the spend is at or below the plan, else by 0.9. It
// starts at 10 %, and the plan leaves the last two hours empty.
type passThrough struct {
	plan *plan
	pass []float64
}

const (
	passStart = 0.1
	passMin   = 0.001 // So that a stopped campaign returns within an hour.
	passUp    = 1.1
	passDown  = 0.9
)

func newPassThrough(k *Knowledge) Policy {
	p := &passThrough{plan: newPlan(&k.Day.Forecast, 2), pass: make([]float64, len(k.Day.Campaigns))}
	for i := range p.pass {
		p.pass[i] = passStart
	}
	return p
}

// Tick implements Policy.
func (p *passThrough) Tick(seen *Seen, words []uint64) {
	if !every(seen, 60) {
		return
	}
	share := p.plan.at(seen.Millis)
	for i := range words {
		factor := passDown
		if float64(seen.Spent[i]) <= share*float64(seen.Budget[i]) {
			factor = passUp
		}
		p.pass[i] = min(max(p.pass[i]*factor, passMin), 1)
		words[i] = throttle(p.pass[i])
	}
}
