package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// EraseUser erases what all groups have stored of a user: touches, links, the user's part in purchases, and membership in
// segments. After an error some groups may have done it; to repeat it does the rest. It waits for no node but the groups'
// leaders: another node's auctions see the segments without the user a moment later.
func (t Tenant) EraseUser(ctx context.Context, user uint64) error {
	for _, g := range t.store.Groups.Groups() {
		x := command.ForgetUser{Marketplace: t.marketplace, User: user}
		if _, err := t.propose(ctx, g, command.AppendForgetUser(nil, t.now(), &x)); err != nil {
			return err
		}
	}
	meta := t.store.Groups.Meta()
	segments, err := read(t, meta, func(b shard.Queries) []string { return b.SegmentsWith(t.marketplace, user) })
	if err != nil {
		return err
	}
	for _, id := range segments {
		x := command.ForgetUser{Marketplace: t.marketplace, User: user, Segment: id}
		if _, err := t.propose(ctx, meta, command.AppendForgetUser(nil, t.now(), &x)); err != nil {
			return err
		}
	}
	return nil
}
