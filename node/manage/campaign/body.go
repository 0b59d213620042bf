package campaign

import (
	"encoding/json"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

// Budget is the most a campaign may spend in a period.
type Budget struct {
	Amount int64  `json:"amount" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	Type   string `json:"type,omitempty" enum:"daily,weekly,monthly,total" doc:"Default daily."`
}

// BudgetPatch changes the members of a budget that it contains.
type BudgetPatch struct {
	Amount *int64  `json:"amount,omitempty" minimum:"1" maximum:"20000000000"`
	Type   *string `json:"type,omitempty" enum:"daily,weekly,monthly,total"`
}

// PromotionType is an alias of adFormat.
type PromotionType struct {
	AdFormat string `json:"adFormat,omitempty" enum:"listing,banner,sponsored_brand"`
}

// Body is a campaign as the marketplace sends it. It has only members that a client may set: ids, times and money spent are not
// among them, so no request can set them.
type Body struct {
	Name                 string            `json:"name" minLength:"1" maxLength:"255"`
	CampaignType         string            `json:"campaignType" enum:"manual,autobidding,exclusive" doc:"autobidding: bids follow from targetRoas or autobiddingObjective, and amounts are ceilings. exclusive: while it can pay its bid, no other campaign of the format wins on its product targets; it pays its own bid, and a product has one at a time."`
	Bids                 []BidBody         `json:"bids" minItems:"1" maxItems:"500"`
	AdFormat             string            `json:"adFormat,omitempty" enum:"listing,banner,sponsored_brand" doc:"Default listing."`
	PromotionType        *PromotionType    `json:"promotionType,omitempty" doc:"Alias: promotionType.adFormat is adFormat."`
	ChargeType           string            `json:"chargeType,omitempty" enum:"CPC,CPM,CPA" doc:"Default CPC for listings, else CPM. CPA pays for the first purchase that is attributed to an ad, and needs a budget of type total."`
	Budget               *Budget           `json:"budget,omitempty" doc:"Absent: limited by the wallet only."`
	Pacing               string            `json:"pacing,omitempty" enum:"asap,even" doc:"How a budget of type total is spent: as soon as auctions are won, which is the default, or spread evenly until endDate, which is then required. All other budgets are spread over their period, and refuse the member."`
	StartDate            *resource.Time    `json:"startDate,omitempty" doc:"Default now."`
	EndDate              *resource.Time    `json:"endDate,omitempty" doc:"After startDate; absent: no end."`
	IsActive             *bool             `json:"isActive,omitempty" doc:"Default true."`
	IsAutoTrigger        *bool             `json:"isAutoTrigger,omitempty" doc:"Default false. If true, the default triggers are added to the given ones."`
	Status               string            `json:"status,omitempty" enum:"approved,pending,rejected" doc:"Default approved."`
	ExternalCampaignID   string            `json:"externalCampaignId,omitempty" maxLength:"255" doc:"Unique per marketplace and ad format."`
	TargetROAS           *resource.Decimal `json:"targetRoas,omitempty" minimum:"0.5" maximum:"20" doc:"Sales per ad spend. A listing that is paid by clicks then bids for a product what a click is expected to sell, divided by this; at most the bid amount. That is learned from attributed purchases; before them it is 10 % of the catalog price, and without a price the bid is the amount. While purchases bring less than this, all bids of the campaign are lowered further, to a fifth at least. Only for autobidding; priceRule first is recommended with it."`
	AutobiddingObjective string            `json:"autobiddingObjective,omitempty" enum:"impressions,clicks,sales" doc:"Bids are their amounts, and the budget alone lowers them, so that it buys as many as it can."`
	PriceRule            string            `json:"priceRule,omitempty" enum:"second,first" doc:"Default second; always first for exclusive campaigns."`
	WalletID             string            `json:"walletId,omitempty" format:"uuid" doc:"Default: the vendor's default wallet."`
	ProductIDs           []string          `json:"productIds,omitempty" maxItems:"200" minLength:"1" maxLength:"255" doc:"The products of banners and sponsored brands; shown with a bid that names no products itself."`
	MultiplierConfig     *MultiplierConfig `json:"multiplierConfig,omitempty"`
	TargetingFilters     *TargetingFilters `json:"targetingFilters,omitempty"`
	ExclusionFilters     *ExclusionFilters `json:"exclusionFilters,omitempty"`
	Schedule             *Schedule         `json:"schedule,omitempty"`
	HoldoutPercent       uint8             `json:"holdoutPercent,omitempty" minimum:"0" maximum:"50" doc:"Default 0. Share of users, chosen by a hash of opaqueUserId, who never see the campaign, so that its incrementality can be measured; 0: none."`
}

// PatchBody changes the members that it contains.
type PatchBody struct {
	Name                 *string                             `json:"name,omitempty" minLength:"1" maxLength:"255"`
	IsActive             *bool                               `json:"isActive,omitempty"`
	StartDate            *resource.Time                      `json:"startDate,omitempty"`
	EndDate              resource.Optional[resource.Time]    `json:"endDate,omitzero" doc:"Null: no end."`
	Budget               resource.Optional[BudgetPatch]      `json:"budget,omitzero" doc:"Null, together with unlimited: no budget."`
	Unlimited            *bool                               `json:"unlimited,omitempty" doc:"True, together with budget null: the campaign is limited by the wallet only."`
	Pacing               *string                             `json:"pacing,omitempty" enum:"asap,even" doc:"Needs a budget of type total, and even an endDate. When the type changes from total to another, even ends by itself."`
	TargetROAS           resource.Optional[resource.Decimal] `json:"targetRoas,omitzero" minimum:"0.5" maximum:"20" doc:"Null: no target; autobidding then needs autobiddingObjective."`
	AutobiddingObjective resource.Optional[string]           `json:"autobiddingObjective,omitzero" enum:"impressions,clicks,sales" doc:"Null: no objective; autobidding then needs targetRoas."`
	Status               *string                             `json:"status,omitempty" enum:"approved,pending,rejected"`
	WalletID             string                              `json:"walletId,omitempty" format:"uuid" doc:"A wallet of the campaign's vendor."`
	ExternalCampaignID   resource.Optional[string]           `json:"externalCampaignId,omitzero" minLength:"1" maxLength:"255" doc:"Unique per marketplace and ad format. Null: none."`
	PriceRule            *string                             `json:"priceRule,omitempty" enum:"second,first"`
	MultiplierConfig     resource.Optional[MultiplierConfig] `json:"multiplierConfig,omitzero" doc:"Null: none."`
	TargetingFilters     resource.Optional[TargetingFilters] `json:"targetingFilters,omitzero" doc:"Null: none."`
	ExclusionFilters     resource.Optional[ExclusionFilters] `json:"exclusionFilters,omitzero" doc:"Null: none."`
	Schedule             resource.Optional[Schedule]         `json:"schedule,omitzero" doc:"Null: none."`
	HoldoutPercent       *uint8                              `json:"holdoutPercent,omitempty" minimum:"0" maximum:"50" doc:"Share of users, chosen by a hash of opaqueUserId, who never see the campaign, so that its incrementality can be measured; 0: none. A change begins a new measurement."`
}

// document is the part of a campaign that auctions do not read. It is stored as JSON.
type document struct {
	resource.Origin
	AutobiddingObjective string            `json:"autobiddingObjective,omitempty"`
	ProductIDs           []string          `json:"productIds,omitempty"`
	MultiplierConfig     *MultiplierConfig `json:"multiplierConfig,omitempty"`
	TargetingFilters     *TargetingFilters `json:"targetingFilters,omitempty"`
	ExclusionFilters     *ExclusionFilters `json:"exclusionFilters,omitempty"`
	Schedule             *Schedule         `json:"schedule,omitempty"`
	Restrictions         []restriction     `json:"restrictions,omitempty"`
}

func (d *document) encode() []byte {
	text, err := json.Marshal(d)
	if err != nil {
		panic("the document of a campaign is plain data: " + err.Error())
	}
	return text
}

func decodeDocument(text []byte) (d document) {
	if len(text) == 0 {
		return d
	}
	if err := json.Unmarshal(text, &d); err != nil {
		panic("a stored campaign document is not JSON: " + err.Error())
	}
	return d
}

// BudgetState is a budget with what is left of it in the current period.
type BudgetState struct {
	Amount          int64  `json:"amount"`
	AmountRemaining int64  `json:"amountRemaining"`
	AmountUsed      int64  `json:"amountUsed"`
	AmountCarryover int64  `json:"amountCarryover" doc:"What a daily budget may spend today on top of amount, because earlier days of the month left it; part of amountRemaining. 0 unless the marketplace carries budgets over (budgetCarryover)."`
	Type            string `json:"type"`
}

// Campaign is a campaign in answers. Members without a value are null.
type Campaign struct {
	CampaignID           string            `json:"campaignId" format:"uuid"`
	MarketplaceID        string            `json:"marketplaceId" format:"uuid"`
	VendorID             string            `json:"vendorId"`
	ExternalVendorID     string            `json:"externalVendorId" doc:"The same value as vendorId."`
	ExternalCampaignID   *string           `json:"externalCampaignId"`
	Name                 string            `json:"name"`
	CampaignType         string            `json:"campaignType"`
	AdFormat             string            `json:"adFormat"`
	ChargeType           string            `json:"chargeType"`
	PriceRule            string            `json:"priceRule"`
	Budget               *BudgetState      `json:"budget"`
	Pacing               *string           `json:"pacing" enum:"asap,even" doc:"Null unless the budget has type total: all others are spread over their period."`
	WalletID             string            `json:"walletId" format:"uuid"`
	StartDate            resource.Time     `json:"startDate"`
	EndDate              *resource.Time    `json:"endDate"`
	IsActive             bool              `json:"isActive"`
	IsAutoTrigger        bool              `json:"isAutoTrigger"`
	Status               string            `json:"status" enum:"pending,approved,rejected,terminated"`
	StatusUpdatedBy      *string           `json:"statusUpdatedBy"`
	TargetROAS           *resource.Decimal `json:"targetRoas"`
	AutobiddingObjective *string           `json:"autobiddingObjective"`
	ProductIDs           []string          `json:"productIds"`
	MultiplierConfig     *MultiplierConfig `json:"multiplierConfig"`
	TargetingFilters     *TargetingFilters `json:"targetingFilters"`
	ExclusionFilters     *ExclusionFilters `json:"exclusionFilters"`
	Schedule             *Schedule         `json:"schedule"`
	HoldoutPercent       uint8             `json:"holdoutPercent" doc:"Share of users who never see the campaign."`
	BidCount             int               `json:"bidCount"`
	PacingState          *PacingState      `json:"pacingState" doc:"Null before the first decision about the campaign, and for one that was terminated."`
	CreatedAt            resource.Time     `json:"createdAt"`
	UpdatedAt            resource.Time     `json:"updatedAt"`
}
