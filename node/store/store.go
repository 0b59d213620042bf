// Package store is what the management API reads and writes: typed values of one marketplace, kept in the Raft groups that they
// belong to. A write returns after its commit. A read through a session sees every write that was answered before it; see Session.
//
// The errors below are the outcomes that a caller may test for with errors.Is. Every write may also fail with ErrUnavailable,
// and then the caller does not know whether it was carried out, unless the function says otherwise.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Errors of the store. An *ItemError wraps one of them and says which item of a list was refused.
var (
	ErrNotFound            = errors.New("not found")
	ErrAlreadyExists       = errors.New("already exists")
	ErrWrongState          = errors.New("wrong state")
	ErrInsufficientBalance = errors.New("insufficient balance")
	ErrTooMany             = errors.New("too many")
	ErrCycle               = errors.New("category cycle")
	ErrUnavailable         = errors.New("not available right now") // There is no leader, the cluster is overloaded, or the outcome is unknown.
	ErrChanged             = errors.New("changed meanwhile")       // Another writer changed the value after it was read. Nothing was written.
	ErrVendorDeleted       = errors.New("vendor deleted")          // The campaign's vendor is not in the catalog any more.
	ErrNeedsTotal          = errors.New("needs a total budget")    // The campaign's charge type needs one.
	// ErrClosed is ErrUnavailable for a closed marketplace. Nothing was written.
	ErrClosed = fmt.Errorf("%w: the marketplace is closed here, because it is being moved or was moved to another cell", ErrUnavailable)
)

// Groups are the Raft groups as the store uses them.
type Groups interface {
	GroupOf(s ids.Shard) ids.Group
	Groups() []ids.Group
	Meta() ids.Group
	// ProposeAt returns when the command is committed and this node has applied it, with the index of its log entry. After an
	// error the command may be repeated.
	ProposeAt(ctx context.Context, g ids.Group, cmd []byte) (result []byte, index uint64, err error)
	// Barrier returns when this node has applied every command of the group that was answered before the call.
	Barrier(ctx context.Context, g ids.Group) error
	// Read runs fn on a consistent snapshot of the group's durable state on this node.
	Read(g ids.Group, fn func(shard.Reader) error) error
	// ReadWritten is Read of the state as it was last written: it may lack what events have changed since, and nothing else.
	ReadWritten(g ids.Group, fn func(shard.Reader) error) error
}

// Store is the access of the management API to the replicated state. It is safe for concurrent use.
type Store struct {
	Groups Groups
	Now    func() time.Time
	// View is the market as auctions see it now; the store takes marketplace settings from it.
	View func() *market.View

	// Usage returns what a marketplace and one of its vendors have now, and AssetBytes counts the bytes of a marketplace's
	// files. Both are this node's knowledge and are compared with Limits. If one is nil, its limits are not checked.
	Usage      func(marketplace uint16, vendorID string) (whole, own market.Usage)
	AssetBytes *AssetBytes
	Limits     Limits

	// AssetURL is the base of the public URLs of assets and contents.
	AssetURL string
	// SendsMail is true when a mail server is configured. Then creating an invitation schedules an email.
	SendsMail bool
	// InvitationTTL is how long an invitation can be accepted after it was made or renewed.
	InvitationTTL time.Duration

	reserved reservations
}

// Tenant returns the store bound to one marketplace.
func (s *Store) Tenant(marketplace uint16) Tenant { return Tenant{store: s, marketplace: marketplace} }

// Tenant is the store bound to one marketplace. Nothing of another marketplace can be named through it.
type Tenant struct {
	store       *Store
	marketplace uint16
	session     *Session // If nil, reads are local.
}

// Marketplace is the number of the marketplace.
func (t Tenant) Marketplace() uint16 { return t.marketplace }

// Page selects items after a position in a stable order.
type Page struct {
	After string // The last id of the previous page; empty for the first.
	Limit int
}

// CampaignFilter selects campaigns. Zero members select all. Offset and Limit count campaigns.
type CampaignFilter struct {
	IDs      []ids.UUID // Only these, terminated ones included; unknown ones are left out. Empty means all.
	VendorID string
	Status   *model.Status
	Format   *model.AdFormat
	Active   *bool
	Offset   int
	Limit    int
}

// CampaignState is a campaign with its budget and what it has spent.
type CampaignState = shard.CampaignState

// ReportRow is one line of a report.
type ReportRow struct {
	Date      string // As CounterRow.Date; empty in reports by product.
	ProductID string // Empty in reports by day or hour.
	rollup.Counters
	Auctions rollup.Auctions // Not filled by product.
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
	ExpiresMillis int64 // 0 means never.
}

// Settings returns the marketplace as this node's auctions see it now. StoredSettings returns what was last written.
func (t Tenant) Settings() model.Marketplace {
	if m := t.store.View().Marketplace(t.marketplace); m != nil {
		return *m
	}
	return model.Marketplace{}
}

// Location is the marketplace's time zone.
func (t Tenant) Location() *time.Location { return Zone(t.Settings().TimeZone) }

// Zone returns the time zone with an IANA name. Names are checked when they are set; an unknown one gives UTC.
func Zone(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

// ItemError is an error about one item of a list. It wraps one of the store's errors.
type ItemError struct {
	Index int
	Err   error
}

func (r *ItemError) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *ItemError) Unwrap() error { return r.Err }
