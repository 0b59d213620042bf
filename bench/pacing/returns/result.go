package returns

// Result is what one campaign paid and sold in the second half of the time. Purchases count when their click was made.
type Result struct {
	Clicks                int
	Spend, Value          float64 // In micros.
	Purchases             float64
	target                float64
	ceilings, base, ticks float64
}

// Ratio returns the return as a multiple of the target; 0 without spend.
func (r *Result) Ratio() float64 {
	if r.Spend == 0 {
		return 0
	}
	return r.Value / r.Spend / r.target
}

// tolerance is how far from the target a return may be.
const tolerance = 0.1

// Summary is what a run brought. Shares are of the campaigns with spend, and of the value of all purchases.
type Summary struct {
	Campaigns int
	// Kept is the share of campaigns, and KeptValue that of value, whose return is at most 10 % below the target.
	Kept, KeptValue float64
	// Within is the share of those whose return is also at most 10 % above it, or whose bids the target did not
	// lower.
	Within, WithinValue float64
	Return              float64 // Of all spend, as a multiple of the targets weighted by spend.
	Value               float64 // Of all purchases, in units of the currency.
}

// Summarise sums up the campaigns that a filter accepts; nil: all.
func Summarise(all []Result, accept func(*Result) bool) (s Summary) {
	owed := 0.
	for i := range all {
		r := &all[i]
		if r.Spend == 0 || accept != nil && !accept(r) {
			continue
		}
		ratio, free := r.Ratio(), r.ceilings >= 0.95*r.ticks && r.base >= 0.95*r.ticks
		s.Campaigns++
		s.Value += r.Value
		owed += r.Spend * r.target
		if ratio < 1-tolerance {
			continue
		}
		s.Kept++
		s.KeptValue += r.Value
		if ratio <= 1+tolerance || free {
			s.Within++
			s.WithinValue += r.Value
		}
	}
	if s.Campaigns == 0 || s.Value == 0 {
		return s
	}
	n := float64(s.Campaigns)
	s.Kept, s.Within = s.Kept/n, s.Within/n
	s.KeptValue, s.WithinValue = s.KeptValue/s.Value, s.WithinValue/s.Value
	s.Return, s.Value = s.Value/owed, s.Value/1e6
	return s
}
