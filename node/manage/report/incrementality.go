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

// registerIncrementality mounts the comparison of users who see a campaign with those held out.
func registerIncrementality(api huma.API) {
	add(api, "getCampaignIncrementality", base+"/incrementality",
		"Compare what users who see a campaign buy with what those held out buy (holdoutPercent of the campaign).", incrementality)
}

// Incrementality compares two groups of users of the same expected size, chosen by a hash: by intention to treat, whatever
// they saw. It says what the campaign adds, which attribution cannot.
type Incrementality struct {
	HoldoutPercent  uint8         `json:"holdoutPercent" doc:"Of the campaign. Only users who were counted under this value are compared."`
	WindowDays      int           `json:"windowDays" doc:"Purchases count up to so many days after the first auction that the campaign has won, or would have won, for the user: the longer attribution window of the campaign's format."`
	Shown           Group         `json:"shown" doc:"Users for whom the campaign won an auction: of all of them a part of the size of heldOut."`
	HeldOut         Group         `json:"heldOut" doc:"Users for whom the campaign would have won an auction, and who never see it."`
	BuyersLift      Lift          `json:"buyersLift" doc:"Of the share of users who bought. The interval is that of Katz et al. (1978) for the ratio of two shares."`
	AmountLift      Lift          `json:"amountLift" doc:"Of the amount per user. The interval follows from the logarithm of the ratio by the delta method (Deng, Knoblich and Lu 2018)."`
	Conclusion      string        `json:"conclusion" doc:"What this shows, in a sentence."`
	OpenUsers       int64         `json:"openUsers" doc:"Users whose window is not over: purchases of theirs may follow, in both groups alike."`
	Incomplete      bool          `json:"incomplete" doc:"On some day more users were to be counted than a group of nodes stores (262,144). Those left out are so in both groups alike."`
	CompleteThrough resource.Time `json:"completeThrough" doc:"All events accepted before are counted. Users are counted within 10 seconds of their auctions, purchases within a minute."`
}

// Group is what the users of a group have bought: items of the campaign's vendor, and of the products that its bids
// target, less what came back, whatever ads they were credited to.
type Group struct {
	Users         int64  `json:"users" doc:"Users who were counted first on the days."`
	Buyers        int64  `json:"buyers" doc:"Users with at least one purchase."`
	Purchases     int64  `json:"purchases" doc:"Purchases with at least one such item."`
	Quantity      int64  `json:"quantity" doc:"Pieces."`
	Amount        int64  `json:"amount" doc:"Minor units, rounded half up."`
	AmountDecimal string `json:"amountDecimal" csv:"number" doc:"Minor units, with as many decimals as the currency needs."`
}

// IncrementalityInput selects the campaign and the days.
type IncrementalityInput struct {
	CampaignID string `path:"campaign_id" format:"uuid"`
	resource.Owned
	StartDate string `query:"start_date" required:"true" format:"date" doc:"First day of the users' first auctions, in the marketplace's time zone. Users are stored for 62 days."`
	EndDate   string `query:"end_date" required:"true" format:"date" doc:"Last day; at most 62 days in all."`
}

// CheckOwner refuses a request that names another vendor than the campaign's.
func (in *IncrementalityInput) CheckOwner(ctx context.Context) error {
	return in.CheckCampaign(ctx, in.CampaignID)
}

// incrementalityDaysMax is the most days of a comparison: as many as users are stored.
const incrementalityDaysMax = 62

type incrementalityOutput struct{ Body Incrementality }

func incrementality(ctx context.Context, in *IncrementalityInput) (*incrementalityOutput, error) {
	d, err := resource.DaysWithin(in.StartDate, in.EndDate, incrementalityDaysMax)
	if err != nil {
		return nil, err
	}
	st := resource.Tenant(ctx)
	through := resource.Time(st.CompleteThrough().UnixMilli())
	x, err := st.Incrementality(ctx, resource.ParseUUID(in.CampaignID), d)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	a := incrementalityOf(&x, st.Settings().CurrencyExponent)
	a.CompleteThrough = through
	return &incrementalityOutput{a}, nil
}

func incrementalityOf(x *store.Incrementality, exponent uint8) Incrementality {
	shown, held, enough := &x.Arms[market.Shown], &x.Arms[market.HeldOut], enoughBuyers(x)
	a := Incrementality{
		HoldoutPercent: x.Percent, WindowDays: x.WindowDays, OpenUsers: x.Open, Incomplete: x.Cut,
		Shown: groupOf(shown, exponent), HeldOut: groupOf(held, exponent),
		BuyersLift: liftOf(buyersMean(shown), buyersMean(held), enough),
		AmountLift: liftOf(amountMean(shown), amountMean(held), enough),
	}
	a.Conclusion = conclusionOf(x, a.BuyersLift)
	return a
}

func groupOf(a *store.ArmSum, exponent uint8) Group {
	amount := money.Micros(math.Min(a.Amount, float64(money.MaxMicros)))
	return Group{
		Users: a.Users, Buyers: a.Buyers, Purchases: a.Purchases, Quantity: a.Quantity, Amount: money.Minor(amount, exponent),
		AmountDecimal: string(money.AppendMinorDecimal(nil, amount, exponent)),
	}
}

// Table has one row: the comparison.
func (r Incrementality) Table() resource.Table {
	return resource.Table{Rows: []Incrementality{r}, CompleteThrough: r.CompleteThrough}
}
