package market

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Experiment is what auctions of a marketplace go by while an experiment runs. The auctions of users whose arm is HeldOut
// are changed, and what these users do is compared with those whose arm is Shown.
type Experiment struct {
	Arms     Holdout
	Settings model.Marketplace // In place of the marketplace's.
	Floors   []Floor           // In place of the marketplace's.
	NoAds    bool              // No bid wins.
	Unpaced  bool              // Bids are neither lowered nor skipped to spread budgets.
}

// experimentSeed is public: digits of the square root of 11.
const experimentSeed = 0x510e527fade682d1

// ArmsOf returns which users take part in a marketplace's experiment. Both arms have the same size, and others are
// chosen for each experiment.
func ArmsOf(m *model.Marketplace) Holdout {
	seed := Mix(Mix(experimentSeed, binary.LittleEndian.Uint64(m.ID[:])), binary.LittleEndian.Uint64(m.ID[8:]))
	return Holdout{m.Experiment.Percent, Mix(seed, uint64(m.Experiment.StartMillis))} // Only its bits count.
}

// experimentOf returns the experiment of a marketplace with such floors, nil when none runs.
func experimentOf(m *model.Marketplace, floors []Floor) *Experiment {
	x := &m.Experiment
	if !x.Runs() {
		return nil
	}
	e := &Experiment{Arms: ArmsOf(m), Settings: *m, Floors: floors}
	switch x.Treatment {
	case model.TreatNoAds:
		e.NoAds = true
	case model.TreatUnpaced:
		e.Unpaced = true
	case model.TreatQuality:
		e.Settings.LearnedQualityMilli = uint16(min(x.ValueMilli, learn.ExponentOne)) // At most 1,000.
	case model.TreatReserve:
		for i, amount := range m.Reserve {
			e.Settings.Reserve[i] = scaled(x, amount)
		}
		e.Floors = make([]Floor, len(floors))
		for i := range floors {
			e.Floors[i] = floors[i]
			e.Floors[i].Amount = scaled(x, floors[i].Amount)
		}
	}
	return e
}

// scaled returns a reserve price times the factor of an experiment, rounded down, and at most the largest amount.
func scaled(x *model.Experiment, amount money.Micros) money.Micros {
	whole, rest := amount/1000, amount%1000
	factor := money.Micros(x.ValueMilli)
	if whole > money.MaxMicros/max(factor, 1) {
		return money.MaxMicros
	}
	return min(whole*factor+rest*factor/1000, money.MaxMicros)
}

// Experiment returns the experiment that runs in a marketplace, nil when none does. REQUIRES: the marketplace exists.
func (v *View) Experiment(marketplace uint16) *Experiment { return v.markets[marketplace].experiment }
