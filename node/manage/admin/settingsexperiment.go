package admin

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
)

// SettingsExperimentPatch starts an experiment, or ends the one that runs.
type SettingsExperimentPatch struct {
	Running   *bool             `json:"running,omitempty" doc:"false ends the experiment that runs, and no other member may stand beside it. To start one, leave it out."`
	Name      *string           `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Required to start one."`
	Percent   *int64            `json:"percent,omitempty" minimum:"1" maximum:"50" doc:"Share of the users, by a hash of opaqueUserId, whose auctions are changed; as many others are compared with them. Required to start one."`
	Treatment *string           `json:"treatment,omitempty" enum:"no-ads,reserve,learned-quality,no-pacing" doc:"What is changed. no-ads: no bid wins, so that the comparison says what all ads of the marketplace add. reserve: all reserve prices are multiplied by value. learned-quality: value takes the place of learnedQuality. no-pacing: bids are neither lowered nor skipped to spread budgets. Required to start one."`
	Value     *resource.Decimal `json:"value,omitempty" minimum:"0" maximum:"10" doc:"Required for reserve (a factor, 0 to 10) and learned-quality (0 to 1), and not allowed otherwise; at most three decimals."`
}

// SettingsExperiment is the experiment that runs, or the last one.
type SettingsExperiment struct {
	Name      string            `json:"name"`
	Percent   int               `json:"percent" doc:"Share of the users whose auctions are changed; as many others are compared with them."`
	Treatment string            `json:"treatment" enum:"no-ads,reserve,learned-quality,no-pacing" doc:"What is changed."`
	Value     *resource.Decimal `json:"value" doc:"The factor of reserve prices, or what takes the place of learnedQuality; null for the others."`
	Running   bool              `json:"running" doc:"Whether auctions go by it."`
	StartedAt resource.Time     `json:"startedAt" doc:"Events from then on are compared."`
	EndedAt   *resource.Time    `json:"endedAt" doc:"Null while it runs."`
}

// treatmentNames are the treatments as the API names them.
var treatmentNames = [model.Treatments]string{"no-ads", "reserve", "learned-quality", "no-pacing"}

func treatmentNamed(name string) model.Treatment {
	for i, known := range treatmentNames {
		if known == name {
			return model.Treatment(i) // Below model.Treatments.
		}
	}
	panic("the schema has checked the treatment " + name)
}

// validate checks which members stand together.
func (b *SettingsExperimentPatch) validate() (found []resource.Violation) {
	fail := func(member, why string) {
		found = append(found, resource.At("value_error", why, "body", "experiment", member))
	}
	if b.Running != nil {
		if *b.Running {
			fail("running", "can only be false, which ends the experiment; to start one, leave it out")
		} else if b.Name != nil || b.Percent != nil || b.Treatment != nil || b.Value != nil {
			fail("running", "must stand alone: end the experiment, and then start the next")
		}
		return found
	}
	for _, x := range []struct {
		member  string
		missing bool
	}{{"name", b.Name == nil}, {"percent", b.Percent == nil}, {"treatment", b.Treatment == nil}} {
		if x.missing {
			fail(x.member, "is required to start an experiment")
		}
	}
	if b.Treatment == nil {
		return found
	}
	treatment := treatmentNamed(*b.Treatment)
	switch takes := treatment == model.TreatReserve || treatment == model.TreatQuality; {
	case takes && b.Value == nil:
		fail("value", "is required for the treatment "+*b.Treatment)
	case !takes && b.Value != nil:
		fail("value", "is not allowed for the treatment "+*b.Treatment)
	case b.Value != nil:
		value, ok := thousandths(*b.Value)
		if !ok {
			fail("value", "must have at most three decimals")
		} else if treatment == model.TreatQuality && value > learn.ExponentOne {
			fail("value", "must be at most 1 for the treatment learned-quality")
		}
	}
	return found
}

// apply starts or ends the experiment of a marketplace now.
func (b *SettingsExperimentPatch) apply(m *model.Marketplace, nowMillis int64) error {
	e := &m.Experiment
	if b.Running != nil {
		if !e.Runs() {
			return resource.Refuse(apierr.InvalidOperation, "no experiment runs")
		}
		e.EndMillis = max(nowMillis, e.StartMillis)
		return nil
	}
	if e.Runs() {
		return resource.Refuse(apierr.InvalidOperation, "the experiment "+e.Name+" runs: end it first with {\"experiment\": {\"running\": false}}")
	}
	started := max(nowMillis, e.EndMillis, 1) // The start names the experiment, so it differs from that of the last one.
	if started == e.StartMillis {
		started++
	}
	*e = model.Experiment{Name: *b.Name, Percent: uint8(*b.Percent), Treatment: treatmentNamed(*b.Treatment), StartMillis: started} // At most 50.
	if b.Value != nil {
		e.ValueMilli, _ = thousandths(*b.Value)
	}
	return nil
}

// experimentOf returns the experiment of a marketplace, nil when there never was one.
func experimentOf(m *model.Marketplace) *SettingsExperiment {
	e := &m.Experiment
	if e.Percent == 0 {
		return nil
	}
	x := &SettingsExperiment{
		Name: e.Name, Percent: int(e.Percent), Treatment: treatmentNames[e.Treatment], Running: e.Runs(), StartedAt: resource.Time(e.StartMillis),
	}
	if e.Treatment == model.TreatReserve || e.Treatment == model.TreatQuality {
		x.Value = new(decimal(e.ValueMilli))
	}
	if !e.Runs() {
		x.EndedAt = new(resource.Time(e.EndMillis))
	}
	return x
}
