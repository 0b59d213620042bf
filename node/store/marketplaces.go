package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// OperatorMarketplace is the number of the first marketplace, with which the cluster was created. Holders of its management keys
// operate the cluster. The other marketplaces are tenants.
const OperatorMarketplace = 1

// MarketplacesMax is how many marketplaces a cluster holds. BOUND: every node iterates over all of them every second.
const MarketplacesMax = 1000

// Operator is the store of the cluster's operator: it manages the marketplaces, and reads nothing of what is in them.
//
// INVARIANT: the numbers of marketplaces are 1, 2, 3 … without gaps, and none is used twice, because keys, records and tokens of a
// tenant carry its number.
type Operator struct{ own Tenant }

// Operator returns the operator's store. It reports false for every marketplace but the first.
func (t Tenant) Operator() (Operator, bool) { return Operator{t}, t.marketplace == OperatorMarketplace }

// tenant is the store of a marketplace in the operator's session.
func (o Operator) tenant(ordinal uint16) Tenant {
	return Tenant{store: o.own.store, marketplace: ordinal, session: o.own.session}
}

// Marketplaces lists the marketplaces, newest first.
func (o Operator) Marketplaces(context.Context) ([]model.Marketplace, error) {
	all, err := read(o.own, o.own.store.Groups.Meta(), shard.Queries.Marketplaces)
	slices.SortFunc(all, func(a, b model.Marketplace) int { return cmp.Compare(b.Ordinal, a.Ordinal) })
	return all, err
}

// Marketplace returns one marketplace, or ErrNotFound.
func (o Operator) Marketplace(ctx context.Context, id ids.UUID) (model.Marketplace, error) {
	all, err := o.Marketplaces(ctx)
	if err != nil {
		return model.Marketplace{}, err
	}
	for i := range all {
		if all[i].ID == id {
			return all[i], nil
		}
	}
	return model.Marketplace{}, ErrNotFound
}

// claim names who creates the marketplace with the next number.
type claim struct {
	Ordinal uint16
	ID      ids.UUID
	Millis  int64
}

const (
	claimKey     = "last"
	claimTimeout = 20 * time.Second // BOUND: duration of a creation, from its claim to its end.
	claimHeld    = 5 * claimTimeout // After this a claim whose creation did not end may be replaced.
)

// CreateMarketplace creates a marketplace and fills in its number, id and times. ErrTooMany beyond MarketplacesMax; ErrUnavailable
// while another creation runs.
//
// The number is claimed by compare-and-set first, because the command that writes settings does not check whether a number is
// free. When a creation ends halfway, the next one uses its number.
func (o Operator) CreateMarketplace(ctx context.Context, m model.Marketplace) (model.Marketplace, error) {
	m.ID = o.own.mint(ctx, 0)
	if known, err := o.Marketplace(ctx, m.ID); err == nil {
		markRepeated(ctx) // The request has the idempotency key of an earlier one.
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	if err := o.claim(ctx, &m); err != nil {
		return m, err
	}
	m.CreatedMillis = o.own.now()
	m.UpdatedMillis = m.CreatedMillis
	t := o.tenant(m.Ordinal)
	if err := t.putSettings(ctx, o.own.store.Groups.Meta(), &m); err != nil {
		return m, err
	}
	made, err := t.PropagateSettings(ctx)
	if err == nil && made.ID != m.ID {
		err = fmt.Errorf("%w: another marketplace got the number %d", ErrUnavailable, m.Ordinal)
	}
	return made, err
}

// numbering is how many marketplaces there are, and the claim of the next number. Both are read from one snapshot: a claim beside an
// older count would use a number twice.
type numbering struct {
	count   int
	last    claim
	version uint64
}

func numberingIn(b shard.Queries) (x numbering) {
	x.count = len(b.Marketplaces())
	if r, ok := b.Record(command.RecordMarketplace, OperatorMarketplace, claimKey); ok {
		x.last, x.version = decoded[claim](r.Value), r.Version
	}
	return x
}

// claim reserves the next number for a marketplace and sets its Ordinal.
func (o Operator) claim(ctx context.Context, m *model.Marketplace) error {
	return o.own.retry(ctx, func() ([]command.Record, error) {
		x, err := read(o.own, o.own.store.Groups.Meta(), numberingIn)
		if err != nil {
			return nil, err
		}
		m.Ordinal = uint16(x.count + 1) // Bounded below.
		mine := claim{m.Ordinal, m.ID, o.own.now()}
		switch {
		case x.count >= MarketplacesMax:
			return nil, ErrTooMany
		case x.last.Ordinal == mine.Ordinal && x.last.ID != mine.ID && mine.Millis-x.last.Millis < claimHeld.Milliseconds():
			return nil, fmt.Errorf("%w: another marketplace is being made", ErrUnavailable)
		}
		return []command.Record{{
			Kind: command.RecordMarketplace, Marketplace: OperatorMarketplace, ID: claimKey, Value: encoded(&mine), Expect: x.version,
		}}, nil
	}, command.AlreadyExists, command.NotFound)
}

// ChangeMarketplace rewrites the settings of a marketplace, or returns ErrNotFound.
func (o Operator) ChangeMarketplace(ctx context.Context, id ids.UUID, change func(*model.Marketplace) error) (model.Marketplace, error) {
	m, err := o.Marketplace(ctx, id)
	if err != nil {
		return m, err
	}
	return o.tenant(m.Ordinal).ChangeSettings(ctx, change)
}

// CreateKeys creates a key of each kind for a marketplace, and returns their texts, which are not stored. ErrTooMany when the
// marketplace may have no more keys.
func (o Operator) CreateKeys(ctx context.Context, id ids.UUID, name string) (auction, management string, err error) {
	m, err := o.Marketplace(ctx, id)
	if err != nil {
		return "", "", err
	}
	t := o.tenant(m.Ordinal)
	if _, auction, err = t.CreateKey(ctx, AuctionKey, name, 0); err != nil {
		return "", "", err
	}
	_, management, err = t.CreateKey(ctx, ManagementKey, name, 0)
	return auction, management, err
}
