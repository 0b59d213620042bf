package store

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// A notification is stored by the command that makes the change, so that neither exists without the other, whenever a
// process ends. Resources that are records of the meta group add the delivery to their records (Tenant.notices).
// Campaigns and bids are in other groups than the webhooks: their commands carry a notice (command.Notice), which holds
// the whole delivery, and the leader moves it into the list of deliveries (MoveNotices). A delivery has the id of its
// notice, so a notice that is moved twice is delivered once.

// Noticed is what a notification is about, as it is with the change.
type Noticed struct {
	Marketplace ids.UUID
	Campaign    *model.Campaign // Only its ID when the change is one of bids.
	Bids        []ids.UUID      // The bids that were changed; nil when the campaign itself was.
}

type noticeKey struct{}

// noticeRequest is what a caller of WithNotice wants.
type noticeRequest struct {
	channel Channel
	payload func(*Noticed) any
}

// WithNotice returns a context whose writes of campaigns and bids notify the webhook of a channel. payload makes the
// payload and may be called several times.
func WithNotice(ctx context.Context, channel Channel, payload func(*Noticed) any) context.Context {
	return context.WithValue(ctx, noticeKey{}, noticeRequest{channel, payload})
}

// proposeNoticed is propose for a change of a campaign or of bids. If the context asks for a notice and the channel has
// a webhook, the command carries it. what tells what the notice is about; its error is returned and nothing is proposed.
func (t Tenant) proposeNoticed(ctx context.Context, g ids.Group, cmd []byte, what func() (Noticed, error)) error {
	d, err := t.wantedNotice(ctx, what)
	if err != nil {
		return err
	}
	carried := false
	if d != nil {
		if carried, err = t.reached(g, command.LevelNotices); err != nil {
			return err
		}
	}
	if carried {
		cmd = command.AppendNotice(cmd, &command.Notice{Marketplace: t.marketplace, ID: d.ID, Value: encoded(d)})
	}
	if _, err = t.propose(ctx, g, cmd); err != nil || d == nil || carried {
		return err
	}
	// A node of an older version is in the cluster. The change is made, so the loss of its notification is no error.
	_ = t.putRecords(ctx, t.deliveryRecords(d))
	return nil
}

// wantedNotice returns the delivery that the context asks for, or nil when it asks for none or the channel has no webhook.
func (t Tenant) wantedNotice(ctx context.Context, what func() (Noticed, error)) (*Delivery, error) {
	wanted, asked := ctx.Value(noticeKey{}).(noticeRequest)
	if !asked {
		return nil, nil
	}
	hook, err := webhooks.find(t, keyOfName(string(wanted.channel)))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := what()
	if err != nil {
		return nil, err
	}
	x.Marketplace = t.Settings().ID
	return t.newDelivery(t.randomID(), &hook.item, wanted.channel, wanted.payload(&x)), nil
}

// randomID is a new id that starts with the time.
func (t Tenant) randomID() ids.UUID {
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // crypto/rand never returns an error.
	return ids.Mint(t.now(), entropy, 0)
}

// aboutPatch tells what a notice of a patched campaign is about.
func (t Tenant) aboutPatch(ctx context.Context, p *command.PatchCampaign) (Noticed, error) {
	c, err := t.Campaign(ctx, p.Campaign)
	if p.Name != nil {
		c.Name = *p.Name
	}
	return Noticed{Campaign: &c.Campaign}, err
}

// aboutBids tells what a notice of changed bids is about.
func aboutBids(campaign ids.UUID, bids ...ids.UUID) func() (Noticed, error) {
	return func() (Noticed, error) { return Noticed{Campaign: &model.Campaign{ID: campaign}, Bids: bids}, nil }
}

func idsOf(bids []model.Bid) []ids.UUID {
	all := make([]ids.UUID, len(bids))
	for i := range bids {
		all[i] = bids[i].ID
	}
	return all
}

// movedBytesMax bounds the deliveries that one command stores. BOUND: as AuditCommandMax.
const movedBytesMax = 1 << 20

// MoveNotices stores the deliveries of notices, at most limit of each group, and then removes the notices. It returns
// how many it moved. If it ends in between, a later call removes what it has stored.
func (t Tenant) MoveNotices(ctx context.Context, limit int) (moved int, err error) {
	for _, g := range t.store.Groups.Groups() {
		stored, err := read(t, g, func(b shard.Queries) []shard.StoredNotice {
			all, _ := b.Notices(t.marketplace, limit)
			return all
		})
		if err != nil {
			return moved, err
		}
		for len(stored) > 0 {
			n, size := 1, len(stored[0].Value)
			for n < len(stored) && size+len(stored[n].Value) <= movedBytesMax {
				size += len(stored[n].Value)
				n++
			}
			if err := t.moveNotices(ctx, g, stored[:n]); err != nil {
				return moved, err
			}
			moved, stored = moved+n, stored[n:]
		}
	}
	return moved, nil
}

// unmoved lists the deliveries of a webhook whose notices are not moved yet, of at most limit notices of each group.
func (t Tenant) unmoved(webhook ids.UUID, limit int) (all []Delivery, err error) {
	for _, g := range t.store.Groups.Groups() {
		stored, err := read(t, g, func(b shard.Queries) []shard.StoredNotice {
			some, _ := b.Notices(t.marketplace, limit)
			return some
		})
		if err != nil {
			return nil, err
		}
		for i := range stored {
			if d := decoded[Delivery](stored[i].Value); d.Webhook == webhook {
				all = append(all, d)
			}
		}
	}
	return all, nil
}

// moveNotices moves some notices of a group.
func (t Tenant) moveNotices(ctx context.Context, g ids.Group, some []shard.StoredNotice) error {
	var records []command.Record
	forget := command.ForgetNotices{Marketplace: t.marketplace}
	for i := range some {
		d := decoded[Delivery](some[i].Value)
		records = append(records, t.deliveryRecords(&d)...)
		forget.IDs = append(forget.IDs, some[i].ID)
	}
	err := t.putRecords(ctx, records)
	if errors.Is(err, ErrAlreadyExists) { // Some were moved before.
		for one := range slices.Chunk(records, len(records)/len(some)) {
			if err = t.putRecords(ctx, one); err != nil && !errors.Is(err, ErrAlreadyExists) {
				return err
			}
		}
		err = nil
	}
	if err != nil {
		return err
	}
	_, err = t.propose(ctx, g, command.AppendForgetNotices(nil, t.now(), &forget))
	return err
}
