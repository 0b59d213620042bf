package store

import (
	"context"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// Advertiser is a vendor's registration with ad networks.
type Advertiser struct {
	VendorID    string
	BillingMode string // pre or post.
	Networks    []Onboarding
}

// Onboarding is the state of a vendor's registration with one network.
type Onboarding struct {
	Network       string
	Status        string // pending, active or failed.
	UpdatedMillis int64
}

// Advertiser returns a vendor's registration. A vendor that was never registered has one without networks.
func (t Tenant) Advertiser(_ context.Context, vendorID string) (Advertiser, error) {
	at, _, err := t.advertiser(vendorID)
	return at, err
}

func (t Tenant) advertiser(vendorID string) (Advertiser, uint64, error) {
	got, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) (f lookupResult[shard.StoredRecord]) {
		f.item, f.ok = b.Record(command.RecordAdvertiser, t.marketplace, vendorID)
		return f
	})
	if err != nil || !got.ok {
		return Advertiser{VendorID: vendorID}, 0, err
	}
	return decoded[Advertiser](got.item.Value), got.item.Version, nil
}

// ChangeAdvertiser rewrites a vendor's registration. fn may run several times.
func (t Tenant) ChangeAdvertiser(ctx context.Context, vendorID string, fn func(*Advertiser)) error {
	return t.retry(ctx, func() ([]command.Record, error) {
		x, version, err := t.advertiser(vendorID)
		if err != nil {
			return nil, err
		}
		fn(&x)
		return []command.Record{{
			Kind: command.RecordAdvertiser, Marketplace: t.marketplace, ID: vendorID, Value: encoded(&x), Expect: version,
		}}, nil
	}, command.AlreadyExists, command.NotFound)
}

// Set records the status that a network has for the vendor. An active one does not go back to pending.
func (x *Advertiser) Set(network, status string, nowMillis int64) {
	i := slices.IndexFunc(x.Networks, func(o Onboarding) bool { return o.Network == network })
	if i < 0 {
		x.Networks = append(x.Networks, Onboarding{network, status, nowMillis})
		return
	}
	if at := &x.Networks[i]; at.Status != status && (at.Status != "active" || status != "pending") {
		at.Status, at.UpdatedMillis = status, nowMillis
	}
}

// Active reports whether the vendor is active on a network.
func (x *Advertiser) Active(network string) bool {
	return slices.ContainsFunc(x.Networks, func(o Onboarding) bool { return o.Network == network && o.Status == "active" })
}

// Knows reports whether the vendor was registered with a network, whatever became of it.
func (x *Advertiser) Knows(network string) bool {
	return slices.ContainsFunc(x.Networks, func(o Onboarding) bool { return o.Network == network })
}
