package store

import (
	"context"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// Advertiser is a vendor as ad networks know it.
type Advertiser struct {
	VendorID    string
	BillingMode string // pre or post.
	Networks    []Onboarding
}

// Onboarding is how far a vendor got on one network.
type Onboarding struct {
	Network       string
	Status        string // pending, active or failed.
	UpdatedMillis int64
}

// Advertiser returns what the networks know of a vendor; a vendor that nobody onboarded has none.
func (t Tenant) Advertiser(_ context.Context, vendorID string) (Advertiser, error) {
	at, _, err := t.advertiser(vendorID)
	return at, err
}

func (t Tenant) advertiser(vendorID string) (Advertiser, uint64, error) {
	got, err := read(t, t.store.Groups.Meta(), func(b shard.Books) (f found[shard.StoredRecord]) {
		f.item, f.ok = b.Record(command.RecordAdvertiser, t.marketplace, vendorID)
		return f
	})
	if err != nil || !got.ok {
		return Advertiser{VendorID: vendorID}, 0, err
	}
	return decoded[Advertiser](got.item.Value), got.item.Version, nil
}

// ChangeAdvertiser rewrites what the networks know of a vendor. fn may run several times.
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

// Set notes the status of a network. An active one does not fall back to pending.
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

// Active reports whether a network has the vendor.
func (x *Advertiser) Active(network string) bool {
	return slices.ContainsFunc(x.Networks, func(o Onboarding) bool { return o.Network == network && o.Status == "active" })
}
