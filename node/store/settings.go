package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// StoredSettings returns the settings as they were last written. Settings returns them as auctions of this node see them, which is
// a little later.
func (t Tenant) StoredSettings(context.Context) (model.Marketplace, error) {
	return t.settingsIn(t.store.Groups.Meta())
}

func (t Tenant) settingsIn(g ids.Group) (model.Marketplace, error) {
	return readOne(t, g, func(b shard.Queries) (model.Marketplace, bool) { return b.Marketplace(t.marketplace) })
}

// ChangeSettings rewrites the settings by change. The meta group gets them first, because auctions read them there; then every data
// group, because the billing mode decides what is charged. If that fails halfway, a repeat, any later change, or the next
// start of a node brings the groups to what the meta group has.
//
// Settings are written whole, over the version that was read. When another writer, on whatever node, changed them in between,
// change is called again, at most maxAttempts times, and then the result is ErrChanged.
func (t Tenant) ChangeSettings(ctx context.Context, change func(*model.Marketplace) error) (model.Marketplace, error) {
	var before model.Marketplace
	err := retryOnConflict(func() (err error) {
		if before, err = t.StoredSettings(ctx); err != nil {
			return err
		}
		after := before
		if err := change(&after); err != nil || reflect.DeepEqual(before, after) {
			return err
		}
		after.UpdatedMillis = max(t.now(), before.UpdatedMillis+1)
		return t.replaceSettings(ctx, &before, &after)
	})
	if err != nil {
		return before, err
	}
	return t.PropagateSettings(ctx)
}

// replaceSettings writes settings to the meta group over the version that was read.
func (t Tenant) replaceSettings(ctx context.Context, before, after *model.Marketplace) error {
	g := t.store.Groups.Meta()
	merges, err := t.supportsMerge(g)
	if err != nil {
		return err
	}
	if !merges {
		return t.putSettings(ctx, g, after)
	}
	p := command.PutMarketplace{Marketplace: *after, Expect: command.VersionOfMarketplace(before)}
	_, err = t.propose(ctx, g, command.AppendReplaceMarketplace(nil, t.now(), &p))
	return err
}

// PropagateSettings brings every other group to what the meta group has: after a change, and at every start. It returns only when
// the meta group had the same settings before and after, so when two run at once, the one that writes last has the latest settings.
func (t Tenant) PropagateSettings(ctx context.Context) (model.Marketplace, error) {
	for {
		m, err := t.StoredSettings(ctx)
		if err != nil {
			return m, err
		}
		for _, g := range t.store.Groups.Groups() {
			if g == t.store.Groups.Meta() { // Writing back what was read would undo a change that another node makes now.
				continue
			}
			have, err := t.settingsIn(g)
			if err == nil && reflect.DeepEqual(have, m) {
				continue
			}
			err = t.putSettings(ctx, g, &m)
			if errors.Is(err, ErrChanged) { // Another node has closed or opened the marketplace since.
				err = fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			if err != nil {
				return m, fmt.Errorf("copy the settings to group %d: %w", g, err)
			}
		}
		if again, err := t.StoredSettings(ctx); err != nil || reflect.DeepEqual(again, m) {
			return m, err
		}
	}
}

func (t Tenant) putSettings(ctx context.Context, g ids.Group, m *model.Marketplace) error {
	_, err := t.propose(ctx, g, command.AppendPutMarketplace(nil, t.now(), m))
	return err
}
