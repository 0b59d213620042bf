package command

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// marketplace keeps the rows below short.
type marketplace = model.Marketplace

var marketplaces = newTable("marketplace",
	fixed("ordinal", u16[uint16](), func(m *marketplace) *uint16 { return &m.Ordinal }),
	fixed("id", uuid, func(m *marketplace) *ids.UUID { return &m.ID }),
	fixed("name", text, func(m *marketplace) *string { return &m.Name }),
	fixed("currency", text, func(m *marketplace) *string { return &m.CurrencyCode }),
	fixed("currency exponent", u8[uint8](), func(m *marketplace) *uint8 { return &m.CurrencyExponent }),
	fixed("time zone", text, func(m *marketplace) *string { return &m.TimeZone }),
	fixed("reserve", amounts, func(m *marketplace) *[model.ChargeTypes]money.Micros { return &m.Reserve }),
	fixed("created", millis, func(m *marketplace) *int64 { return &m.CreatedMillis }),
	fixed("updated", millis, func(m *marketplace) *int64 { return &m.UpdatedMillis }),
	optional(0, "suspended", boolean, func(m *marketplace) *bool { return &m.Suspended }),
	optional(1, "approve assets", boolean, func(m *marketplace) *bool { return &m.ApproveAssets }),
	optional(2, "review campaigns", boolean, func(m *marketplace) *bool { return &m.ReviewCampaigns }),
	optional(3, "post-paid", boolean, func(m *marketplace) *bool { return &m.PostPaid }),
	optional(4, "external demand disabled", boolean, func(m *marketplace) *bool { return &m.ExternalDemand.Disabled }),
	optional(5, "external demand sources", texts, func(m *marketplace) *[]string { return &m.ExternalDemand.Sources }),
	optional(6, "own demand source", text, func(m *marketplace) *string { return &m.ExternalDemand.OwnValue }),
	optional(7, "h3", boolean, func(m *marketplace) *bool { return &m.H3 }),
	optional(8, "winners of one vendor", u8[uint8](), func(m *marketplace) *uint8 { return &m.VendorMax }),
	optional(9, "reserve rules", list(reserveRules, model.ReserveRulesMax),
		func(m *marketplace) *[]model.ReserveRule { return &m.Reserves }),
	optional(10, "learned quality", number[uint16]("u16 to 1000", learn.ExponentOne),
		func(m *marketplace) *uint16 { return &m.LearnedQualityMilli }).since(LevelPacing),
	optional(11, "traffic dates", list(trafficDates, model.TrafficDatesMax),
		func(m *marketplace) *[]model.TrafficDate { return &m.TrafficDates }).since(LevelPacing),
	optional(12, "carries budgets over", boolean,
		func(m *marketplace) *bool { return &m.CarriesOver }).since(LevelPacing),
	optional(13, "attribution", enum[model.Attribution](model.Attributions),
		func(m *marketplace) *model.Attribution { return &m.Attribution }).since(LevelAttribution),
	optional(14, "touch days", u8[uint8](), func(m *marketplace) *uint8 { return &m.TouchDays }).since(LevelUsers),
	optional(16, "click rules", value(clickRules),
		func(m *marketplace) *model.ClickRules { return &m.ClickRules }).since(LevelInvalidTraffic),
	optional(17, "closings", u32[uint32](), func(m *marketplace) *uint32 { return &m.Closings }).since(LevelClosing),
	optional(18, "experiment", value(experiments),
		func(m *marketplace) *model.Experiment { return &m.Experiment }).since(LevelExperiments),
	optional(19, "event days", number[uint8]("u8 to 30", model.EventDaysMax),
		func(m *marketplace) *uint8 { return &m.EventDays }).since(LevelEvents),
)

var experiments = newTable("experiment",
	fixed("name", text, func(e *model.Experiment) *string { return &e.Name }),
	fixed("percent", number[uint8]("u8 to 50", model.ExperimentPercentMax), func(e *model.Experiment) *uint8 { return &e.Percent }),
	fixed("treatment", enum[model.Treatment](model.Treatments), func(e *model.Experiment) *model.Treatment { return &e.Treatment }),
	fixed("value", number[uint32]("u32 to 10000", model.ExperimentReserveMax), func(e *model.Experiment) *uint32 { return &e.ValueMilli }),
	fixed("started", millis, func(e *model.Experiment) *int64 { return &e.StartMillis }),
	fixed("ended", millis, func(e *model.Experiment) *int64 { return &e.EndMillis }),
)

var clickRules = newTable("click rules",
	optional(0, "min seconds", u8[uint8](), func(r *model.ClickRules) *uint8 { return &r.MinSeconds }),
	optional(1, "max hours", u8[uint8](), func(r *model.ClickRules) *uint8 { return &r.MaxHours }),
	optional(2, "repeat seconds", u16[uint16](), func(r *model.ClickRules) *uint16 { return &r.RepeatSeconds }),
	optional(3, "per user, campaign and hour", u8[uint8](), func(r *model.ClickRules) *uint8 { return &r.PerCampaignHour }),
	optional(4, "per user and hour", u8[uint8](), func(r *model.ClickRules) *uint8 { return &r.PerUserHour }),
	optional(5, "per user and day", u8[uint8](), func(r *model.ClickRules) *uint8 { return &r.PerUserDay }),
)

var reserveRules = newTable("reserve rule",
	fixed("charge type", enum[model.ChargeType](model.ChargeTypes),
		func(r *model.ReserveRule) *model.ChargeType { return &r.Charge }),
	fixed("amount", price, func(r *model.ReserveRule) *money.Micros { return &r.Amount }),
	fixed("any format", boolean, func(r *model.ReserveRule) *bool { return &r.AnyFormat }),
	fixed("format", enum[model.AdFormat](model.AdFormats),
		func(r *model.ReserveRule) *model.AdFormat { return &r.Format }),
	fixed("place", text, func(r *model.ReserveRule) *string { return &r.Place }),
	fixed("category", text, func(r *model.ReserveRule) *string { return &r.Category }),
)

// AppendMarketplace appends m.
func AppendMarketplace(dst []byte, m *model.Marketplace) []byte { return marketplaces.append(dst, m) }

// Marketplace reads what AppendMarketplace wrote into m. REQUIRES: *m is the zero value.
func (d *Decoder) Marketplace(m *model.Marketplace) { marketplaces.read(d, m) }

// PutMarketplace replaces the settings of a marketplace.
type PutMarketplace struct {
	Marketplace model.Marketplace
	// Expect is the version of the settings that the proposer has read; 0 replaces the settings regardless of their
	// version. With a version, the command is refused as Conflict when the settings have changed since.
	Expect uint64
}

var putMarketplaces = newTable("put marketplace",
	fixed("marketplace", value(marketplaces), func(p *PutMarketplace) *model.Marketplace { return &p.Marketplace }),
	optional(0, "expectation", u64[uint64](),
		func(p *PutMarketplace) *uint64 { return &p.Expect }).since(LevelVersions),
)

// AppendPutMarketplace appends a PutMarketplace that expects no version.
func AppendPutMarketplace(dst []byte, nowMillis int64, m *model.Marketplace) []byte {
	return AppendReplaceMarketplace(dst, nowMillis, &PutMarketplace{Marketplace: *m})
}

// AppendReplaceMarketplace appends a PutMarketplace.
func AppendReplaceMarketplace(dst []byte, nowMillis int64, p *PutMarketplace) []byte {
	return appendCommand(dst, OpPutMarketplace, nowMillis, putMarketplaces, p)
}

// ReadPutMarketplace reads a PutMarketplace.
func ReadPutMarketplace(c *Command) (PutMarketplace, error) { return readCommand(c, putMarketplaces) }

// Bootstrap is the first command of a cluster. It does nothing when the group already has secrets or the marketplace.
type Bootstrap struct {
	Marketplace model.Marketplace
	Secrets     Secrets
	Keys        []Record // API keys.
}

var bootstraps = newTable("bootstrap",
	fixed("marketplace", value(marketplaces), func(b *Bootstrap) *model.Marketplace { return &b.Marketplace }),
	fixed("secrets", value(secrets), func(b *Bootstrap) *Secrets { return &b.Secrets }),
	fixed("keys", list(records, unbounded), func(b *Bootstrap) *[]Record { return &b.Keys }),
)

// AppendBootstrap appends a Bootstrap.
func AppendBootstrap(dst []byte, nowMillis int64, b *Bootstrap) []byte {
	return appendCommand(dst, OpBootstrap, nowMillis, bootstraps, b)
}

// ReadBootstrap reads a Bootstrap.
func ReadBootstrap(c *Command) (Bootstrap, error) { return readCommand(c, bootstraps) }

var secrets = newTable("secrets",
	fixed("duplicate", key32, func(s *Secrets) *[32]byte { return &s.Duplicate }),
	fixed("token", list(tokenKeys, unbounded), func(s *Secrets) *[]TokenKey { return &s.Token }),
	fixed("cursor", key32, func(s *Secrets) *[32]byte { return &s.Cursor }),
)

var tokenKeys = newTable("token key",
	fixed("id", u8[uint8](), func(k *TokenKey) *uint8 { return &k.ID }),
	fixed("key", key16, func(k *TokenKey) *[16]byte { return &k.Key }),
)

// AppendSecrets appends s.
func AppendSecrets(dst []byte, s *Secrets) []byte { return secrets.append(dst, s) }

// Secrets reads what AppendSecrets wrote into s. REQUIRES: *s is the zero value.
func (d *Decoder) Secrets(s *Secrets) { secrets.read(d, s) }
