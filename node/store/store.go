// Package store is what the management API reads and writes: typed values of one marketplace, kept in the raft groups
// they belong to. A write returns after its commit; a read sees every write answered before it.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
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
	ErrChanged             = errors.New("changed meanwhile")       // By somebody else, since it was read; nothing was written.
)

// Groups are the raft groups as the store uses them.
type Groups interface {
	GroupOf(s ids.Shard) ids.Group
	Groups() []ids.Group
	Meta() ids.Group
	// ProposeAt returns when the command is committed and this node has applied it, with the index of its entry; or an
	// error, and then repeating the command is safe.
	ProposeAt(ctx context.Context, g ids.Group, cmd []byte) (result []byte, index uint64, err error)
	// Barrier returns when this node has applied every command of the group that was answered before the call.
	Barrier(ctx context.Context, g ids.Group) error
	// Read runs fn on a consistent snapshot of the group's durable state on this node.
	Read(g ids.Group, fn func(shard.Reader) error) error
}

// Store is the management side's access to the replicated state. It is safe for concurrent use.
type Store struct {
	Groups Groups
	Now    func() time.Time
	// View is the market as auctions see it now; the store takes marketplace settings from it.
	View func() *market.View

	// Usage is what a marketplace and a vendor of it have now, and AssetBytes what the files of a marketplace take, as this
	// node knows them; they are held against Limits. nil: nothing is.
	Usage      func(marketplace uint16, vendorID string) (whole, own market.Usage)
	AssetBytes *AssetBytes
	Limits     Limits

	// Mails says that somebody sends letters: then invitations queue one.
	Mails bool

	reserved reserved
}

// Tenant returns the store bound to one marketplace.
func (s *Store) Tenant(marketplace uint16) Tenant { return Tenant{store: s, marketplace: marketplace} }

// Tenant is the store as one marketplace sees it: nothing of another marketplace can be named through it.
type Tenant struct {
	store       *Store
	marketplace uint16
	session     *Session // nil: reads are local.
}

// Marketplace is the number of the marketplace.
func (t Tenant) Marketplace() uint16 { return t.marketplace }

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
type CampaignState = shard.CampaignState

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

// Settings returns the marketplace.
func (t Tenant) Settings() market.Marketplace {
	if m := t.store.View().Marketplace(t.marketplace); m != nil {
		return *m
	}
	return market.Marketplace{}
}

// Location is the marketplace's time zone.
func (t Tenant) Location() *time.Location { return Zone(t.Settings().TimeZone) }

// Zone resolves the name of a time zone. Names are checked when they are set, so an unknown one is UTC.
func Zone(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

// Refused is an error about one item of a list.
type Refused struct {
	Index int
	Err   error
}

func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *Refused) Unwrap() error { return r.Err }
