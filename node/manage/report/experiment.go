package report

import (
	"context"
	"math"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// registerExperiment mounts the comparison of the two arms of a marketplace's experiment.
func registerExperiment(api huma.API) {
	add(api, "getMarketplaceExperiment", service+"/marketplace/experiment",
		"Compare the users whose auctions the marketplace's experiment changes with as many others (setting experiment): the one that runs, or the last one.", experiment)
}

// ExperimentReport compares two groups of users of the same expected size, chosen by a hash: by intention to treat, whatever
// they saw.
type ExperimentReport struct {
	Name      string         `json:"name" doc:"Of the experiment; the settings say what it changes. Empty before the first one."`
	Percent   int            `json:"percent" doc:"Share of the users in each group; 0 before the first experiment."`
	StartedAt *resource.Time `json:"startedAt" doc:"Null before the first experiment."`
	EndedAt   *resource.Time `json:"endedAt" doc:"Null while it runs."`

	Groups []ExperimentGroup `json:"groups" doc:"First the users whose auctions were changed, then those they are compared with. Empty before the first experiment."`

	UsersLift       Lift          `json:"usersLift" doc:"Of the users with an impression or a click."`
	ImpressionsLift Lift          `json:"impressionsLift" doc:"Of the impressions of ads."`
	ClicksLift      Lift          `json:"clicksLift" doc:"Of the clicks on ads."`
	SpendLift       Lift          `json:"spendLift" doc:"Of what was charged. Budgets are common to both groups: where one group spends more, less is left for the other, so that the lift of a treatment that spends faster is too large by that."`
	BuyersLift      Lift          `json:"buyersLift" doc:"Of the users who bought."`
	AmountLift      Lift          `json:"amountLift" doc:"Of the amount of all purchases."`
	Conclusion      string        `json:"conclusion" doc:"What the amounts show, in a sentence."`
	Incomplete      bool          `json:"incomplete" doc:"On some day more users were to be counted than a group of nodes stores (262,144), or the experiment began longer ago than users are stored (62 days). Both groups of users are concerned alike."`
	CompleteThrough resource.Time `json:"completeThrough" doc:"All events accepted before are counted. Purchases are counted within a minute."`
}

// ExperimentGroup is what the users of a group did while the experiment ran.
type ExperimentGroup struct {
	Group         string `json:"group" enum:"treated,compared" doc:"treated: the users whose auctions are changed; compared: those they are compared with."`
	Users         int64  `json:"users" doc:"Users with an impression or a click of an ad."`
	Impressions   int64  `json:"impressions" doc:"After the start, also of auctions before it."`
	Clicks        int64  `json:"clicks" doc:"After the start, also of auctions before it."`
	Spend         int64  `json:"spend" doc:"Minor units, rounded half up: what was charged for impressions, clicks and purchases, before reversals."`
	SpendDecimal  string `json:"spendDecimal" csv:"number" doc:"Minor units, with as many decimals as the currency needs."`
	Buyers        int64  `json:"buyers" doc:"Users with a purchase, whatever it was credited to."`
	Purchases     int64  `json:"purchases"`
	Quantity      int64  `json:"quantity" doc:"Pieces."`
	Amount        int64  `json:"amount" doc:"Minor units, rounded half up: of the purchases, less what came back."`
	AmountDecimal string `json:"amountDecimal" csv:"number" doc:"Minor units, with as many decimals as the currency needs."`
}

// Table has a row for each group.
func (r ExperimentReport) Table() resource.Table {
	return resource.Table{Rows: r.Groups, CompleteThrough: r.CompleteThrough}
}

type (
	experimentInput  struct{}
	experimentOutput struct{ Body ExperimentReport }
)

func experiment(ctx context.Context, _ *experimentInput) (*experimentOutput, error) {
	st := resource.Tenant(ctx)
	through := resource.Time(st.CompleteThrough().UnixMilli())
	x, err := st.Experiment(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	a := experimentReportOf(&x, st.Settings().CurrencyExponent)
	a.Incomplete = a.Incomplete || x.Percent > 0 && st.NowMillis()-x.StartMillis > (incrementalityDaysMax-1)*24*3600*1000
	a.CompleteThrough = through
	return &experimentOutput{a}, nil
}

func experimentReportOf(x *store.Experiment, exponent uint8) ExperimentReport {
	if x.Percent == 0 {
		return ExperimentReport{Groups: []ExperimentGroup{}, Conclusion: noExperiment}
	}
	treated, compared := &x.Arms[market.HeldOut], &x.Arms[market.Shown]
	r := ExperimentReport{
		Name: x.Name, Percent: int(x.Percent), StartedAt: new(resource.Time(x.StartMillis)),
		Groups:          []ExperimentGroup{experimentGroupOf("treated", treated, exponent), experimentGroupOf("compared", compared, exponent)},
		UsersLift:       liftOfTotals(treated.Users, compared.Users),
		ImpressionsLift: liftOfTotals(treated.Impressions, compared.Impressions),
		ClicksLift:      liftOfTotals(treated.Clicks, compared.Clicks),
		SpendLift:       liftOfTotals(treated.Spent, compared.Spent),
		BuyersLift:      liftOfTotals(treated.Buyers, compared.Buyers),
		AmountLift:      liftOfTotals(treated.Amount, compared.Amount),
		Incomplete:      x.Cut,
	}
	if !x.Runs() {
		r.EndedAt = new(resource.Time(x.EndMillis))
	}
	r.Conclusion = experimentConclusion(r.AmountLift)
	return r
}

func experimentGroupOf(name string, a *store.ExperimentArm, exponent uint8) ExperimentGroup {
	of := func(s store.UserSum) (minor int64, decimal string) {
		amount := money.Micros(math.Min(s.Total, float64(money.MaxMicros)))
		return money.Minor(amount, exponent), string(money.AppendMinorDecimal(nil, amount, exponent))
	}
	g := ExperimentGroup{
		Group: name, Users: a.Users.Users, Impressions: int64(a.Impressions.Total), Clicks: int64(a.Clicks.Total),
		Buyers: a.Buyers.Users, Purchases: a.Purchases, Quantity: a.Quantity,
	}
	g.Spend, g.SpendDecimal = of(a.Spent)
	g.Amount, g.AmountDecimal = of(a.Amount)
	return g
}

// liftOfTotals compares two sums over users. How many users a group has is not known, because nobody counts those who do
// nothing, but both groups are the same share of all users, chosen by a hash of each user. So the variance of a sum is
// estimated by the sum of the squares (Horvitz and Thompson 1952); what is lacking because a user in one group is not in the
// other cancels out in the ratio. The interval is that of the logarithm of the ratio by the delta method, as in liftOf.
func liftOfTotals(treated, compared store.UserSum) (l Lift) {
	if compared.Total <= 0 {
		return l
	}
	ratio := treated.Total / compared.Total
	l.Percent = percentOf(ratio)
	if min(treated.Users, compared.Users) < buyersMin {
		return l
	}
	margin := z * math.Sqrt(treated.Squares/(treated.Total*treated.Total)+compared.Squares/(compared.Total*compared.Total))
	l.From, l.To = percentOf(ratio*math.Exp(-margin)), percentOf(ratio*math.Exp(margin))
	return l
}

// The conclusions of an experiment.
const (
	noExperiment = "The marketplace has had no experiment. Start one with the setting experiment."
	tooFewBuyers = "The sample is too small for a conclusion: each group needs at least 30 users who bought. Wait, or end the experiment and start one with a larger percent."
	canBeChance  = "The difference can be chance: the 95 % confidence interval of the amount of purchases contains 0."
	treatedMore  = "Users whose auctions were changed buy for more than the others; chance explains so large a difference in fewer than 5 % of cases."
	treatedLess  = "Users whose auctions were changed buy for less than the others; chance explains so large a difference in fewer than 5 % of cases."
)

func experimentConclusion(amount Lift) string {
	switch {
	case amount.From == nil:
		return tooFewBuyers
	case *amount.From > 0:
		return treatedMore
	case *amount.To < 0:
		return treatedLess
	}
	return canBeChance
}
