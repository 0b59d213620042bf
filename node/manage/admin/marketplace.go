package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// marketplaceBase is the path of the operations. They accept keys of the first marketplace only (resource.OperatorKey).
const marketplaceBase = "/public/v1/marketplace-service/marketplaces"

const (
	oneMarketplace = marketplaceBase + "/{marketplace_id}"
	marketplaceTag = "Operator"
)

// RegisterMarketplaces mounts the operations.
func RegisterMarketplaces(api huma.API) {
	op := func(id, method, path string, status int, doc string) resource.Op {
		return resource.Op{ID: id, Method: method, Path: path, Status: status, Tag: marketplaceTag, Doc: doc, Key: resource.OperatorKey}
	}
	resource.Add(api, op("createMarketplace", http.MethodPost, marketplaceBase, http.StatusCreated, "Create a marketplace and its first key of each kind."), createMarketplace)
	resource.Add(api, op("listMarketplaces", http.MethodGet, marketplaceBase, http.StatusOK, "List the marketplaces of the cluster, newest first."), listMarketplaces)
	resource.Add(api, op("getMarketplace", http.MethodGet, oneMarketplace, http.StatusOK, "Get a marketplace."), getMarketplace)
	resource.Add(api, op("patchMarketplace", http.MethodPatch, oneMarketplace, http.StatusOK, "Change, suspend or reactivate a marketplace."), patchMarketplace)
	resource.Add(api, op("createMarketplaceKeys", http.MethodPost, oneMarketplace+"/keys", http.StatusCreated, "Create a key of each kind for a marketplace that has lost its keys."), createKeys)
}

// MarketplaceBody is a new marketplace. Its other settings are changed with its own keys.
type MarketplaceBody struct {
	Name             string `json:"name" minLength:"1" maxLength:"64"`
	CurrencyCode     string `json:"currencyCode" pattern:"^[A-Z]{3}$" doc:"ISO 4217."`
	CurrencyExponent *int64 `json:"currencyExponent,omitempty" minimum:"0" maximum:"4" doc:"Digits of a minor unit, default 2. It can never change."`
	TimeZone         string `json:"timeZone,omitempty" maxLength:"64" doc:"IANA name, default UTC."`
}

// MarketplacePatchBody changes the members that it contains.
type MarketplacePatchBody struct {
	Name         string `json:"name,omitempty" minLength:"1" maxLength:"64"`
	CurrencyCode string `json:"currencyCode,omitempty" pattern:"^[A-Z]{3}$" doc:"ISO 4217. Stored amounts do not change."`
	TimeZone     string `json:"timeZone,omitempty" maxLength:"64" doc:"IANA name."`
	Suspended    *bool  `json:"suspended,omitempty" doc:"If true, all its keys are refused with invalid_marketplace on both listeners; its data stays. The first marketplace cannot be suspended."`
	Closed       *bool  `json:"closed,omitempty" doc:"If true, nothing of it changes in this cluster any more: auctions, events and changes are answered 503, reading goes on. So it can be moved to another cluster with a backup (gavel cells move). False opens it again, which must not happen once it was opened elsewhere."`
}

// Marketplace is a marketplace in answers.
type Marketplace struct {
	MarketplaceID    string        `json:"marketplaceId" format:"uuid"`
	Name             string        `json:"name"`
	CurrencyCode     string        `json:"currencyCode"`
	CurrencyExponent int           `json:"currencyExponent"`
	TimeZone         string        `json:"timeZone"`
	Suspended        bool          `json:"suspended"`
	Closed           bool          `json:"closed"`
	CreatedAt        resource.Time `json:"createdAt"`
	UpdatedAt        resource.Time `json:"updatedAt"`
}

// MarketplaceKeys are the texts of two keys. They are answered once, because the cluster stores only hashes.
type MarketplaceKeys struct {
	AuctionKey    string `json:"auctionKey"`
	ManagementKey string `json:"managementKey"`
}

// MarketplaceMade is a new marketplace with its keys.
type MarketplaceMade struct {
	Marketplace
	MarketplaceKeys
}

// MarketplaceList is one page of marketplaces.
type MarketplaceList struct {
	Marketplaces []Marketplace `json:"marketplaces"`
	resource.Page
}

type (
	marketplaceCreateInput struct{ Body MarketplaceBody }
	marketplaceListInput   struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	oneMarketplaceInput struct {
		ID string `path:"marketplace_id" format:"uuid"`
	}
	marketplacePatchInput struct {
		ID   string `path:"marketplace_id" format:"uuid"`
		Body MarketplacePatchBody
	}
	madeOutput            struct{ Body MarketplaceMade }
	keysOutput            struct{ Body MarketplaceKeys }
	marketplaceOutput     struct{ Body Marketplace }
	marketplaceListOutput struct{ Body MarketplaceList }
)

// operator returns the operator's store. The listener has checked the key before; that tenants have no such store is a second check.
func operator(ctx context.Context) (store.Operator, error) {
	o, ok := resource.Tenant(ctx).Operator()
	if !ok {
		return o, resource.Refuse(apierr.ForbiddenAPIKey, "")
	}
	return o, nil
}

const (
	exponentDefault = 2
	firstKeys       = "first keys"
	newKeys         = "made by the operator"
)

func createMarketplace(ctx context.Context, in *marketplaceCreateInput) (*madeOutput, error) {
	b := &in.Body
	if found := zone(b.TimeZone); found != nil {
		return nil, resource.Invalid(found...)
	}
	o, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	m := model.Marketplace{
		Name: b.Name, CurrencyCode: b.CurrencyCode, CurrencyExponent: exponentDefault, TimeZone: "UTC",
		ExternalDemand: model.ExternalDemand{OwnValue: "gavel"},
	}
	if b.CurrencyExponent != nil {
		m.CurrencyExponent = uint8(*b.CurrencyExponent) // At most 4.
	}
	if b.TimeZone != "" {
		m.TimeZone = b.TimeZone
	}
	if m, err = o.CreateMarketplace(ctx, m); err != nil {
		return nil, resource.LimitErrorOf(err, "the cluster would have more than 1,000 marketplaces")
	}
	auction, management, err := o.CreateKeys(ctx, m.ID, firstKeys)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &madeOutput{MarketplaceMade{marketplaceAnswer(&m), MarketplaceKeys{auction, management}}}, nil
}

func zone(name string) []resource.Violation {
	if name == "" || resource.KnownZone(name) {
		return nil
	}
	return []resource.Violation{resource.At("value_error", "must be the name of a time zone, like Europe/Paris", "body", "timeZone")}
}

func listMarketplaces(ctx context.Context, in *marketplaceListInput) (*marketplaceListOutput, error) {
	o, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	all, err := o.Marketplaces(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	position := func(m model.Marketplace) string { return resource.NewestFirst(int64(m.Ordinal), "") }
	cursors := resource.CursorsFor(ctx, cursorKey(ctx), "listMarketplaces")
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, position, resource.Sorted(all, position))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := &marketplaceListOutput{MarketplaceList{make([]Marketplace, len(page)), end}}
	for i := range page {
		out.Body.Marketplaces[i] = marketplaceAnswer(&page[i])
	}
	return out, nil
}

func cursorKey(ctx context.Context) [32]byte {
	return resource.Tenant(ctx).CursorKey()
}

func getMarketplace(ctx context.Context, in *oneMarketplaceInput) (*marketplaceOutput, error) {
	o, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	m, err := o.Marketplace(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &marketplaceOutput{marketplaceAnswer(&m)}, nil
}

func patchMarketplace(ctx context.Context, in *marketplacePatchInput) (*marketplaceOutput, error) {
	if found := zone(in.Body.TimeZone); found != nil {
		return nil, resource.Invalid(found...)
	}
	o, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	m, err := o.ChangeMarketplace(ctx, resource.ParseUUID(in.ID), in.Body.apply)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &marketplaceOutput{marketplaceAnswer(&m)}, nil
}

func (b *MarketplacePatchBody) apply(m *model.Marketplace) error {
	for to, from := range map[*string]string{&m.Name: b.Name, &m.CurrencyCode: b.CurrencyCode, &m.TimeZone: b.TimeZone} {
		if from != "" {
			*to = from
		}
	}
	if b.Closed != nil && *b.Closed != m.Closed() {
		m.Closings++
	}
	if b.Suspended == nil {
		return nil
	}
	if *b.Suspended && m.Ordinal == store.OperatorMarketplace {
		return resource.Refuse(apierr.InvalidOperation, "the first marketplace runs the cluster: nobody could reactivate it")
	}
	m.Suspended = *b.Suspended
	return nil
}

func createKeys(ctx context.Context, in *oneMarketplaceInput) (*keysOutput, error) {
	o, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	auction, management, err := o.CreateKeys(ctx, resource.ParseUUID(in.ID), newKeys)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &keysOutput{MarketplaceKeys{auction, management}}, nil
}

func marketplaceAnswer(m *model.Marketplace) Marketplace {
	return Marketplace{
		MarketplaceID: m.ID.String(), Name: m.Name, CurrencyCode: m.CurrencyCode, CurrencyExponent: int(m.CurrencyExponent),
		TimeZone: m.TimeZone, Suspended: m.Suspended, Closed: m.Closed(), CreatedAt: resource.Time(m.CreatedMillis), UpdatedAt: resource.Time(m.UpdatedMillis),
	}
}
