// Package store is what the management API reads and writes: typed values of one marketplace, kept in the raft groups
// they belong to. A write returns after its commit; a read sees every write answered before it.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Errors of the store. A *Refused wraps one of them and names the position of the refused item in a list.
var (
	ErrNotFound            = errors.New("not found")
	ErrAlreadyExists       = errors.New("already exists")
	ErrWrongState          = errors.New("wrong state")
	ErrInsufficientBalance = errors.New("insufficient balance")
	ErrTooMany             = errors.New("too many")
	ErrCycle               = errors.New("category cycle")
	ErrUnavailable         = errors.New("not available right now") // No leader, overload, or an unknown outcome.
)

// Tenant is the store as one marketplace sees it: nothing of another marketplace can be named through it.
type Tenant struct {
	marketplace uint16
}

// Page asks for items after a position in a stable order.
type Page struct {
	After string // The last id of the previous page; empty for the first.
	Limit int
}

// CampaignFilter narrows Campaigns. Zero members do not narrow.
type CampaignFilter struct {
	VendorID string
	Status   *market.Status
	Format   *market.AdFormat
	Active   *bool
	Offset   int
	Limit    int
}

// CampaignState is a campaign with its money.
type CampaignState struct {
	market.Campaign
	Money    ledger.Budget
	BidCount int
}

// ReportRow is one line of a report.
type ReportRow struct {
	Date      string // YYYY-MM-DD local, in daily reports.
	ProductID string // In product reports.
	rollup.Counters
}

// Dates are the inclusive local dates of a report.
type Dates struct{ From, To string }

// KeyKind is the kind of an API key.
type KeyKind string

// The key kinds.
const (
	AuctionKey    KeyKind = "auction"
	ManagementKey KeyKind = "management"
)

// Key is an API key without its secret.
type Key struct {
	ID            string
	Kind          KeyKind
	Name          string
	CreatedMillis int64
	ExpiresMillis int64 // 0: never.
}

var errNotBuilt = errors.New("not built yet")

// Settings returns the marketplace.
func (t Tenant) Settings() market.Marketplace { return market.Marketplace{} }

// Location is the marketplace's time zone.
func (t Tenant) Location() *time.Location { return time.UTC }

// PutVendors adds or replaces vendors, all or nothing.
func (t Tenant) PutVendors(ctx context.Context, v []market.Vendor) error { return errNotBuilt }

// Vendor returns one vendor, or ErrNotFound.
func (t Tenant) Vendor(ctx context.Context, id string) (market.Vendor, error) {
	return market.Vendor{}, errNotBuilt
}

// Vendors lists vendors by id; only those in ids when it is not empty.
func (t Tenant) Vendors(ctx context.Context, p Page, ids []string) (v []market.Vendor, more bool, err error) {
	return nil, false, errNotBuilt
}

// DeleteVendors removes vendors; unknown ids are ignored. Their wallets and campaigns stay.
func (t Tenant) DeleteVendors(ctx context.Context, ids []string) error { return errNotBuilt }

// PutCategories adds or replaces categories, all or nothing; a *Refused with ErrCycle names the culprit.
func (t Tenant) PutCategories(ctx context.Context, c []market.Category) error { return errNotBuilt }

// Category returns one category, or ErrNotFound.
func (t Tenant) Category(ctx context.Context, id string) (market.Category, error) {
	return market.Category{}, errNotBuilt
}

// Categories lists categories by id.
func (t Tenant) Categories(ctx context.Context, p Page, ids []string) (c []market.Category, more bool, err error) {
	return nil, false, errNotBuilt
}

// CountCategories counts the categories.
func (t Tenant) CountCategories(ctx context.Context) (int, error) { return 0, errNotBuilt }

// PutProducts adds or replaces products, all or nothing.
func (t Tenant) PutProducts(ctx context.Context, p []market.Product) error { return errNotBuilt }

// Product returns one product, or ErrNotFound.
func (t Tenant) Product(ctx context.Context, id string) (market.Product, error) {
	return market.Product{}, errNotBuilt
}

// Products lists products by id; of one vendor when vendorID is not empty.
func (t Tenant) Products(ctx context.Context, p Page, ids []string, vendorID string) (all []market.Product, more bool, err error) {
	return nil, false, errNotBuilt
}

// DeleteProducts and DeleteCategories remove catalog items; unknown ids are ignored.
func (t Tenant) DeleteProducts(ctx context.Context, ids []string) error { return errNotBuilt }

// DeleteCategories removes categories; unknown ids are ignored.
func (t Tenant) DeleteCategories(ctx context.Context, ids []string) error { return errNotBuilt }

// Wallets lists the wallets of a vendor; the default wallet is listed with balance 0 before its first deposit.
func (t Tenant) Wallets(ctx context.Context, vendorID string) ([]ledger.Wallet, error) {
	return nil, errNotBuilt
}

// Adjust moves money into (positive) or out of a vendor's wallet and returns the new balance. The zero wallet id means
// the default wallet. strict refuses a balance below zero with ErrInsufficientBalance.
func (t Tenant) Adjust(ctx context.Context, vendorID string, wallet ids.UUID, amount money.Micros, strict bool, description string) (money.Micros, error) {
	return 0, errNotBuilt
}

// CreateCampaign stores a campaign with its bids and fills in what Gavel assigns: campaign and bid ids, times, group.
func (t Tenant) CreateCampaign(ctx context.Context, c *market.Campaign, bids []market.Bid) error {
	return errNotBuilt
}

// Campaign returns a campaign that is not of another marketplace, or ErrNotFound. Terminated ones are found.
func (t Tenant) Campaign(ctx context.Context, id ids.UUID) (CampaignState, error) {
	return CampaignState{}, errNotBuilt
}

// Campaigns lists campaigns, newest first; terminated ones only when the filter names that status.
func (t Tenant) Campaigns(ctx context.Context, f CampaignFilter) (all []CampaignState, more bool, err error) {
	return nil, false, errNotBuilt
}

// PatchCampaign changes a campaign. ErrWrongState on a terminated one.
func (t Tenant) PatchCampaign(ctx context.Context, p *command.PatchCampaign) error { return errNotBuilt }

// Bids lists the bids of a campaign in the order of their creation; deleted ones are left out.
func (t Tenant) Bids(ctx context.Context, campaign ids.UUID, offset, limit int) (all []market.Bid, more bool, err error) {
	return nil, false, errNotBuilt
}

// AddBids adds bids to a campaign and fills in their ids and times.
func (t Tenant) AddBids(ctx context.Context, campaign ids.UUID, bids []market.Bid) error {
	return errNotBuilt
}

// ReplaceBid replaces amount, state, triggers and location of a bid, or deletes it.
func (t Tenant) ReplaceBid(ctx context.Context, campaign ids.UUID, b market.Bid) error {
	return errNotBuilt
}

// Bid returns one bid that is not deleted, or ErrNotFound.
func (t Tenant) Bid(ctx context.Context, campaign, bid ids.UUID) (market.Bid, error) {
	return market.Bid{}, errNotBuilt
}

// CampaignReport sums a campaign's counters over the dates.
func (t Tenant) CampaignReport(ctx context.Context, campaign ids.UUID, d Dates) (rollup.Counters, error) {
	return rollup.Counters{}, errNotBuilt
}

// CampaignDaily gives a campaign's counters per local day that has any, oldest first.
func (t Tenant) CampaignDaily(ctx context.Context, campaign ids.UUID, d Dates) ([]ReportRow, error) {
	return nil, errNotBuilt
}

// CampaignProducts gives a campaign's counters per product, by product id.
func (t Tenant) CampaignProducts(ctx context.Context, campaign ids.UUID, d Dates) ([]ReportRow, error) {
	return nil, errNotBuilt
}

// CompleteThrough is the time up to which all accepted events are in the reports.
func (t Tenant) CompleteThrough() time.Time { return time.Time{} }

// Keys lists the API keys, newest first.
func (t Tenant) Keys(ctx context.Context) ([]Key, error) { return nil, errNotBuilt }

// CreateKey makes an API key and returns its text, which is not stored. ErrTooMany beyond 20 of a kind.
func (t Tenant) CreateKey(ctx context.Context, kind KeyKind, name string, expiresMillis int64) (Key, string, error) {
	return Key{}, "", errNotBuilt
}

// RevokeKey deletes a key. ErrWrongState for the last management key.
func (t Tenant) RevokeKey(ctx context.Context, id string) error { return errNotBuilt }

// CursorKey authenticates page cursors.
func (t Tenant) CursorKey() [32]byte { return [32]byte{} }

// Refused is an error about one item of a list.
type Refused struct {
	Index int
	Err   error
}

func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *Refused) Unwrap() error { return r.Err }
