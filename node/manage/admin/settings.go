package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	settingsPath = "/public/v1/marketplace-service/settings"
	settingsTag  = "Marketplace"
)

// RegisterSettings mounts the operations.
func RegisterSettings(api huma.API) {
	resource.Add(api, resource.Op{ID: "getSettings", Method: http.MethodGet, Path: settingsPath, Tag: settingsTag, Doc: "Read the marketplace's settings."}, getSettings)
	resource.Add(api, resource.Op{
		ID: "patchSettings", Method: http.MethodPatch, Path: settingsPath, Tag: settingsTag,
		Doc: "Change settings; the next auction sees them.",
	}, patchSettings)
}

// SettingsReservePatch changes the reserve prices that it contains.
type SettingsReservePatch struct {
	CPC *int64 `json:"CPC,omitempty" minimum:"0" maximum:"20000000000" doc:"Minor units; a bid must be above it."`
	CPM *int64 `json:"CPM,omitempty" minimum:"0" maximum:"20000000000" doc:"Minor units per 1,000 impressions."`
	CPA *int64 `json:"CPA,omitempty" minimum:"0" maximum:"20000000000" doc:"Minor units per purchase."`
}

// SettingsDemandPatch changes the members of the policy for external demand that it contains.
type SettingsDemandPatch struct {
	Enabled  *bool    `json:"enabled,omitempty"`
	Sources  []string `json:"sources,omitempty" maxItems:"100" pattern:"^[a-z0-9_-]{1,32}$" doc:"Replaces the list; an empty list allows any source."`
	OwnValue *string  `json:"ownValue,omitempty" pattern:"^[A-Za-z0-9_.-]{1,64}$" doc:"The demandSource of winners that are not external demand."`
}

// SettingsPatchBody changes the members that it contains.
type SettingsPatchBody struct {
	CurrencyCode         *string                  `json:"currencyCode,omitempty" pattern:"^[A-Z]{3}$" doc:"ISO 4217."`
	CurrencyExponent     *int64                   `json:"currencyExponent,omitempty" minimum:"0" maximum:"4" doc:"Cannot change: any value but the present one is refused with 409."`
	TimeZone             *string                  `json:"timeZone,omitempty" minLength:"1" maxLength:"64" doc:"IANA name. Running budget periods end in the new zone."`
	GeoMode              *string                  `json:"geoMode,omitempty" enum:"label,h3" doc:"How locations are compared: as labels, or as H3 cells, where a cell matches all cells within it. Bids keep their locations; a location that is not valid in the new mode matches nothing."`
	ReservePrice         *SettingsReservePatch    `json:"reservePrice,omitempty"`
	ReserveRules         []SettingsReserveRule    `json:"reserveRules,omitempty" maxItems:"200" doc:"Replaces all rules; an empty list removes them."`
	WinnersPerVendor     *int64                   `json:"maxWinnersPerVendor,omitempty" minimum:"0" maximum:"40" doc:"Winners of one vendor in one auction; 0: no bound."`
	BillingMode          *string                  `json:"billingMode,omitempty" enum:"pre,post" doc:"pre: campaigns on an empty wallet lose auctions; post: wallets may go below zero."`
	BudgetCarryover      *bool                    `json:"budgetCarryover,omitempty" doc:"A daily budget may spend on a day what earlier days of the month left, at most the budget again, and in a month at most 30.4 budgets: the 31st day adds 0.4. A change takes effect when the next day begins."`
	ExternalDemand       *SettingsDemandPatch     `json:"externalDemand,omitempty"`
	AutoApproveAssets    *bool                    `json:"autoApproveAssets,omitempty" doc:"New assets need no review."`
	AutoApproveCampaigns *bool                    `json:"autoApproveCampaigns,omitempty" doc:"Campaigns that vendors make themselves need no review. Requests with a management key set the status themselves."`
	LearnedQuality       *resource.Decimal        `json:"learnedQuality,omitempty" minimum:"0" maximum:"1" doc:"How much learned click rates decide which ads win: an ad's score is multiplied by (its click rate / that of an average ad at the same place) to this power, by a quarter at least and 4 at most. 0: not at all. It needs some thousand clicks to be useful; 0.6 to 1 is advised then. At most three decimals."`
	TouchRetentionDays   *int64                   `json:"touchRetentionDays,omitempty" minimum:"16" maximum:"90" doc:"For how many UTC days, the current one included, clicks and impressions are kept so that purchases can be credited to them: at least 2 days longer than the longest window of the rules in attribution. What is older is deleted within minutes."`
	EventRetentionDays   *int64                   `json:"eventRetentionDays,omitempty" minimum:"0" maximum:"30" doc:"For how many UTC days, the current one included, each event is kept as it was reported, so that it can be exported (dataset events); 0, the default: not at all, otherwise at least 2, because an hour is exported up to two hours after it began. The user is never kept with it. An event takes some 70 bytes more on the disk of each replica. What is older is deleted within seconds."`
	Attribution          *string                  `json:"attribution,omitempty" enum:"standard,reference,long-click,amazon" doc:"The rules by which purchases are credited to clicks and impressions, from the next decision on. standard: 7 days for listings, 14 for sponsored brands, 30 for banners, and other products of the vendor (halo). reference: the same days, after clicks only except for banners, listings first, no halo. long-click: 14 days after a click, banners also 1 day after an impression, no halo. amazon: the last click or impression of 14 days, with halo."`
	TrafficDates         []SettingsTrafficDate    `json:"trafficDates,omitempty" maxItems:"200" doc:"Dates with unusual traffic, by which budgets are spread over the day, week and month. Replaces the list; an empty list removes them."`
	InvalidTraffic       *SettingsInvalidPatch    `json:"invalidTraffic,omitempty" doc:"Rules by which clicks on ads are invalid, each off at first. An invalid click is answered as recorded and counted by its rule in the reports' invalid; it is not charged, credited with purchases, learned from or counted otherwise. It is never deleted."`
	Experiment           *SettingsExperimentPatch `json:"experiment,omitempty" doc:"Starts an experiment, which changes the auctions of a share of the users and compares them with as many others (getMarketplaceExperiment), or ends the one that runs. A marketplace has one at a time."`
}

// SettingsReserve are the reserve prices in minor units.
type SettingsReserve struct {
	CPC int64 `json:"CPC"`
	CPM int64 `json:"CPM"`
	CPA int64 `json:"CPA"`
}

// SettingsDemand is the policy for external demand.
type SettingsDemand struct {
	Enabled  bool     `json:"enabled"`
	Sources  []string `json:"sources"`
	OwnValue string   `json:"ownValue"`
}

// Settings are all settings.
type Settings struct {
	CurrencyCode         string                `json:"currencyCode"`
	CurrencyExponent     int                   `json:"currencyExponent"`
	TimeZone             string                `json:"timeZone"`
	GeoMode              string                `json:"geoMode" enum:"label,h3"`
	ReservePrice         SettingsReserve       `json:"reservePrice"`
	ReserveRules         []SettingsReserveRule `json:"reserveRules"`
	WinnersPerVendor     int                   `json:"maxWinnersPerVendor"`
	BillingMode          string                `json:"billingMode" enum:"pre,post"`
	BudgetCarryover      bool                  `json:"budgetCarryover" doc:"Whether a daily budget may spend what earlier days of the month left."`
	ExternalDemand       SettingsDemand        `json:"externalDemand"`
	AutoApproveAssets    bool                  `json:"autoApproveAssets"`
	AutoApproveCampaigns bool                  `json:"autoApproveCampaigns"`
	LearnedQuality       resource.Decimal      `json:"learnedQuality" doc:"How much learned click rates decide which ads win, from 0 to 1."`
	TouchRetentionDays   int                   `json:"touchRetentionDays" doc:"For how many UTC days clicks and impressions are kept; default 90."`
	EventRetentionDays   int                   `json:"eventRetentionDays" doc:"For how many UTC days each event is kept as it was reported; default 0."`
	Attribution          string                `json:"attribution" enum:"standard,reference,long-click,amazon" doc:"The rules by which clicks and impressions are credited with purchases."`
	TrafficDates         []SettingsTrafficDate `json:"trafficDates" doc:"Dates with unusual traffic."`
	InvalidTraffic       SettingsInvalid       `json:"invalidTraffic" doc:"Rules by which clicks on ads are invalid."`
	Experiment           *SettingsExperiment   `json:"experiment" doc:"The experiment that runs, or the last one; null before the first."`
	CreatedAt            resource.Time         `json:"createdAt"`
	UpdatedAt            resource.Time         `json:"updatedAt"`
}

type (
	settingsInput      struct{}
	settingsPatchInput struct{ Body SettingsPatchBody }
	settingsOutput     struct{ Body Settings }
)

func getSettings(ctx context.Context, _ *settingsInput) (*settingsOutput, error) {
	m, err := resource.Tenant(ctx).StoredSettings(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &settingsOutput{settingsAnswer(&m)}, nil
}

func patchSettings(ctx context.Context, in *settingsPatchInput) (*settingsOutput, error) {
	if err := in.Body.validate(); err != nil {
		return nil, err
	}
	st := resource.Tenant(ctx)
	m, err := st.ChangeSettings(ctx, func(m *model.Marketplace) error {
		if in.Body.Experiment != nil {
			if err := in.Body.Experiment.apply(m, st.NowMillis()); err != nil {
				return err
			}
		}
		return in.Body.apply(m)
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &settingsOutput{settingsAnswer(&m)}, nil
}

// validate checks what depends on the body alone.
func (b *SettingsPatchBody) validate() error {
	found := append(validateCrossField(b.ReserveRules), b.learning().validateCrossField()...)
	if b.Experiment != nil {
		found = append(found, b.Experiment.validate()...)
	}
	if len(found) > 0 {
		return resource.Invalid(found...)
	}
	if b.TimeZone != nil && !resource.KnownZone(*b.TimeZone) {
		return resource.Invalid(resource.At("value_error", "must be the name of a time zone, like Europe/Paris", "body", "timeZone"))
	}
	return nil
}

// apply changes the settings, or refuses a change that they do not allow.
func (b *SettingsPatchBody) apply(m *model.Marketplace) error {
	if b.CurrencyExponent != nil && *b.CurrencyExponent != int64(m.CurrencyExponent) {
		return resource.Refuse(apierr.InvalidOperation, "currencyExponent is fixed: every stored amount was read with it")
	}
	setSettings(&m.CurrencyCode, b.CurrencyCode)
	setSettings(&m.TimeZone, b.TimeZone)
	if b.GeoMode != nil {
		m.H3 = *b.GeoMode == cells
	}
	if b.BillingMode != nil {
		m.PostPaid = *b.BillingMode == "post"
	}
	setSettings(&m.CarriesOver, b.BudgetCarryover)
	setSettings(&m.ApproveAssets, b.AutoApproveAssets)
	if b.AutoApproveCampaigns != nil {
		m.ReviewCampaigns = !*b.AutoApproveCampaigns
	}
	if b.WinnersPerVendor != nil {
		m.VendorMax = uint8(*b.WinnersPerVendor) // At most 40.
	}
	if b.ReservePrice != nil {
		b.ReservePrice.apply(m)
	}
	if b.ReserveRules != nil {
		m.Reserves = marketRules(b.ReserveRules, m.CurrencyExponent)
	}
	if b.Attribution != nil {
		m.Attribution = attributionNamed(*b.Attribution)
	}
	if err := b.applyTouchDays(m); err != nil {
		return err
	}
	if err := b.applyEventDays(m); err != nil {
		return err
	}
	b.learning().apply(m)
	if b.InvalidTraffic != nil {
		b.InvalidTraffic.apply(&m.ClickRules)
	}
	if b.ExternalDemand != nil {
		return b.ExternalDemand.apply(&m.ExternalDemand)
	}
	return nil
}

func setSettings[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (b *SettingsReservePatch) apply(m *model.Marketplace) {
	for charge, amount := range map[model.ChargeType]*int64{model.CPC: b.CPC, model.CPM: b.CPM, model.CPA: b.CPA} {
		if amount == nil {
			continue
		}
		reserve, err := money.FromMinor(*amount, m.CurrencyExponent)
		if err != nil {
			panic(fmt.Sprintf("the bounds of reserve prices (%d) must lie in those of money", *amount))
		}
		m.Reserve[charge] = reserve
	}
}

// apply changes the policy. OWNERSHIP: it replaces the list and does not modify it, because auctions read the old one.
func (b *SettingsDemandPatch) apply(d *model.ExternalDemand) error {
	if b.Enabled != nil {
		d.Disabled = !*b.Enabled
	}
	if b.Sources != nil {
		d.Sources = slices.Compact(slices.Sorted(slices.Values(b.Sources)))
	}
	setSettings(&d.OwnValue, b.OwnValue)
	if slices.Contains(d.Sources, d.OwnValue) {
		member := "sources"
		if b.Sources == nil {
			member = "ownValue"
		}
		return resource.Invalid(resource.At("value_error", "must not be one of the external sources", "body", "externalDemand", member))
	}
	return nil
}

func settingsAnswer(m *model.Marketplace) Settings {
	s := Settings{
		CurrencyCode: m.CurrencyCode, CurrencyExponent: int(m.CurrencyExponent), TimeZone: m.TimeZone, GeoMode: geoMode(m),
		ReservePrice: SettingsReserve{minor(m, model.CPC), minor(m, model.CPM), minor(m, model.CPA)}, BillingMode: "pre",
		ReserveRules: rulesOf(m), WinnersPerVendor: int(m.VendorMax),
		ExternalDemand:  SettingsDemand{!m.ExternalDemand.Disabled, append([]string{}, m.ExternalDemand.Sources...), m.ExternalDemand.OwnValue},
		BudgetCarryover: m.CarriesOver, AutoApproveAssets: m.ApproveAssets, AutoApproveCampaigns: !m.ReviewCampaigns,
		LearnedQuality: decimal(uint32(m.LearnedQualityMilli)), TrafficDates: trafficDatesOf(m),
		Attribution: attributionNames[m.Attribution], TouchRetentionDays: store.TouchDays(m), EventRetentionDays: int(m.EventDays), InvalidTraffic: invalidTrafficOf(&m.ClickRules), Experiment: experimentOf(m),
		CreatedAt: resource.Time(m.CreatedMillis), UpdatedAt: resource.Time(m.UpdatedMillis),
	}
	if m.PostPaid {
		s.BillingMode = "post"
	}
	return s
}

// The geo modes.
const (
	labels = "label"
	cells  = "h3"
)

func geoMode(m *model.Marketplace) string {
	if m.H3 {
		return cells
	}
	return labels
}

func minor(m *model.Marketplace, charge model.ChargeType) int64 {
	return money.Minor(m.Reserve[charge], m.CurrencyExponent)
}
