package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// Limits bounds what one marketplace, or one vendor of it, can store, so that no tenant takes the memory or the disk of the
// others. A zero member means no bound. Each node checks with its own settings, so they have to be equal on all nodes.
//
// The state machine counts records (assets, segments, webhooks, keys) when it writes them, exactly. Campaigns, bids, products
// and bytes are counted by each node as it applies them, together with what its own running requests are about to add. So one
// node never exceeds a limit; several nodes at the same moment can, by what they accept within one commit.
type Limits struct {
	Campaigns, VendorCampaigns int // Terminated campaigns do not count.
	Bids, VendorBids           int // Deleted bids and those of terminated campaigns do not count.
	Products                   int
	Assets                     int
	AssetBytes                 int64 // Of uploaded files. It is checked before each file, so the last file may exceed it.
	Segments                   int
	Webhooks                   int
	Keys                       int // Active keys of each kind.
}

// Limit is the error of a request that would exceed one of the Limits. It wraps ErrTooMany.
type Limit struct {
	What   string // What is limited, in plural, such as "campaigns".
	Vendor bool   // True for a limit of each vendor, false for one of the marketplace.
	Max    int64
}

// Error names the limit.
func (l *Limit) Error() string {
	of := "a marketplace"
	if l.Vendor {
		of = "a vendor"
	}
	return fmt.Sprintf("%s has at most %d %s here; delete what is not needed, or ask the operator for more", of, l.Max, l.What)
}

// Unwrap makes it an ErrTooMany.
func (l *Limit) Unwrap() error { return ErrTooMany }

// limited turns an ErrTooMany of the state machine into the *Limit that it stands for. Other errors stay as they are.
func limited(err error, what string, most int) error {
	if errors.Is(err, ErrTooMany) {
		return &Limit{What: what, Max: int64(most)}
	}
	return err
}

// reservations is what running requests of this node are about to add.
type reservations struct {
	mu  sync.Mutex
	all map[owner]market.Usage
}

// owner is a vendor, or with an empty vendorID the marketplace itself.
type owner struct {
	marketplace uint16
	vendorID    string
}

// reserve counts what a request is about to add for a vendor, or with an empty vendorID for the marketplace, until release is
// called. It returns a *Limit when the request would exceed one.
func (t Tenant) reserve(vendorID string, more market.Usage) (release func(), err error) {
	s := t.store
	if s.Usage == nil {
		return func() {}, nil
	}
	s.reserved.mu.Lock()
	defer s.reserved.mu.Unlock()
	whole, own := s.Usage(t.marketplace, vendorID)
	all, vendor := owner{t.marketplace, ""}, owner{t.marketplace, vendorID}
	whole, own = add(whole, s.reserved.all[all]), add(own, s.reserved.all[vendor])
	l := &s.Limits
	for _, x := range []struct {
		what           string
		vendor         bool
		used, add, max int
	}{
		{"campaigns", false, whole.Campaigns, more.Campaigns, l.Campaigns},
		{"bids", false, whole.Bids, more.Bids, l.Bids},
		{"products", false, whole.Products, more.Products, l.Products},
		{"campaigns", true, own.Campaigns, more.Campaigns, l.VendorCampaigns},
		{"bids", true, own.Bids, more.Bids, l.VendorBids},
	} {
		if x.max > 0 && x.add > 0 && x.used+x.add > x.max && (!x.vendor || vendorID != "") {
			return nil, &Limit{What: x.what, Vendor: x.vendor, Max: int64(x.max)}
		}
	}
	s.reserved.change(all, vendor, more, 1)
	return func() {
		s.reserved.mu.Lock()
		defer s.reserved.mu.Unlock()
		s.reserved.change(all, vendor, more, -1)
	}, nil
}

// change adds to what is reserved, or with a sign of -1 takes it back. REQUIRES: mu is held.
func (r *reservations) change(all, vendor owner, more market.Usage, sign int) {
	if r.all == nil {
		r.all = map[owner]market.Usage{}
	}
	more = market.Usage{Campaigns: sign * more.Campaigns, Bids: sign * more.Bids, Products: sign * more.Products}
	for i, o := range []owner{all, vendor} {
		if i == 1 && vendor == all {
			break
		}
		if r.all[o] = add(r.all[o], more); r.all[o] == (market.Usage{}) {
			delete(r.all, o)
		}
	}
}

func add(a, b market.Usage) market.Usage {
	return market.Usage{Campaigns: a.Campaigns + b.Campaigns, Bids: a.Bids + b.Bids, Products: a.Products + b.Products}
}

// reserveProducts is reserve for products, of which some may exist already and only be replaced. It looks them up only when
// all of them together would be too many.
func (t Tenant) reserveProducts(products []model.Product) (release func(), err error) {
	release, err = t.reserve("", market.Usage{Products: len(products)})
	if !errors.Is(err, ErrTooMany) {
		return release, err
	}
	fresh, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) int {
		seen := make(map[string]bool, len(products))
		for i := range products {
			if _, known := b.Product(t.marketplace, products[i].ID); !known {
				seen[products[i].ID] = true
			}
		}
		return len(seen)
	})
	if err != nil {
		return nil, err
	}
	return t.reserve("", market.Usage{Products: fresh})
}

// checkAssetBytes returns a *Limit when a marketplace's files already take all the bytes that they may take.
func (t Tenant) checkAssetBytes() error {
	most := t.store.Limits.AssetBytes
	if t.store.AssetBytes == nil || most == 0 || t.store.AssetBytes.Used(t.marketplace) < most {
		return nil
	}
	return &Limit{What: "bytes of assets", Max: most}
}

// AssetBytes counts the bytes of the assets of each marketplace, from the records that a node applies. The zero value is ready
// for use. It is safe for concurrent use.
type AssetBytes struct {
	mu    sync.Mutex
	sizes map[assetKey]int64
	used  map[uint16]int64
}

type assetKey struct {
	marketplace uint16
	id          string
}

// PutRecord counts the record of an asset; a nil value means that it was deleted. Other kinds of records are ignored.
func (b *AssetBytes) PutRecord(kind command.RecordKind, marketplace uint16, id string, value []byte) {
	if kind != command.RecordAsset {
		return
	}
	size := int64(0)
	if value != nil {
		size = decoded[Asset](value).Size
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := assetKey{marketplace, id}
	if b.sizes == nil {
		b.sizes, b.used = map[assetKey]int64{}, map[uint16]int64{}
	}
	b.used[marketplace] += size - b.sizes[key]
	b.sizes[key] = size
	if size == 0 {
		delete(b.sizes, key)
	}
}

// Reset sets all counts to zero, before a node applies a snapshot.
func (b *AssetBytes) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes, b.used = nil, nil
}

// Used returns the bytes of a marketplace's assets.
func (b *AssetBytes) Used(marketplace uint16) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used[marketplace]
}
