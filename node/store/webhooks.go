package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Channel is what a webhook is told of.
type Channel string

// The channels that fire. The interface knows more, which register only.
const (
	ChannelCampaignCreate Channel = "campaign:create"
	ChannelCampaignUpdate Channel = "campaign:update"
	ChannelCampaignDelete Channel = "campaign:delete"
	ChannelBidCreate      Channel = "bid:create"
	ChannelBidUpdate      Channel = "bid:update"
	ChannelBidDelete      Channel = "bid:delete"
	ChannelAsset          Channel = "asset:status"
	ChannelJob            Channel = "job:finish"
	ChannelWallet         Channel = "wallet:empty"
)

// Webhook is an address that is told of a channel.
type Webhook struct {
	ID            ids.UUID
	Channel       Channel // At most one webhook each.
	URL           string
	Secret        string
	CreatedMillis int64
	UpdatedMillis int64
}

// Place is the webhook's position in lists.
func (x *Webhook) Place() string { return placeOf(x.CreatedMillis, x.ID) }

var webhooks = shelf[Webhook]{command.RecordWebhook, command.RecordWebhookIndex, func(x *Webhook) label {
	return label{x.ID, x.CreatedMillis, string(x.Channel)}
}}

// CreateWebhook stores a new webhook and fills in its id and times. ErrAlreadyExists when the channel has one.
func (t Tenant) CreateWebhook(ctx context.Context, x *Webhook) error {
	x.ID, x.CreatedMillis = t.mint(ctx, 0), t.now()
	x.UpdatedMillis = x.CreatedMillis
	stored, err := webhooks.addWithin(ctx, t, t.store.Limits.Webhooks, []Webhook{*x})
	if err != nil {
		return limited(err, "webhooks", t.store.Limits.Webhooks)
	}
	*x = stored[0]
	return nil
}

// Webhook returns a webhook, or ErrNotFound.
func (t Tenant) Webhook(_ context.Context, id ids.UUID) (Webhook, error) {
	at, err := webhooks.find(t, keyOfID(id))
	return at.thing, err
}

// Webhooks lists the webhooks, newest first.
func (t Tenant) Webhooks(_ context.Context, p Page) ([]Webhook, bool, error) {
	return webhooks.list(t, p, func(*Webhook) bool { return true })
}

// ChangeWebhook rewrites a webhook. ErrAlreadyExists when the new channel has one. fn may run several times.
func (t Tenant) ChangeWebhook(ctx context.Context, id ids.UUID, fn func(*Webhook)) (Webhook, error) {
	return webhooks.change(ctx, t, keyOfID(id), func(x *Webhook) {
		fn(x)
		x.UpdatedMillis = t.now()
	})
}

// DeleteWebhook deletes a webhook. What is still to be sent to it is dropped.
func (t Tenant) DeleteWebhook(ctx context.Context, id ids.UUID) error {
	return webhooks.remove(ctx, t, id)
}

// Bounds of deliveries.
const (
	DeliveryAttempts = 5                // BOUND: repeats of one notification, of the interface.
	DeliveryWait     = 2 * time.Second  // Before the first repeat; it doubles: 2, 4, 8, 16 and 30 s make a minute.
	DeliveryLast     = 30 * time.Second // BOUND: the longest wait, so that all stay within a minute.
	DeliveryKept     = 24 * time.Hour   // BOUND: how long the log of deliveries goes back.
	DeliveryStale    = 10 * time.Minute // BOUND: what could not be sent for so long, because nothing led, is dropped.
)

// Delivery is a notification on its way, or one of the last that were.
type Delivery struct {
	ID            ids.UUID
	Webhook       ids.UUID
	Channel       Channel
	Body          json.RawMessage // As it is sent and signed.
	Attempts      int
	Done          bool // Delivered or given up.
	Delivered     bool
	Reason        string // Of the last failure.
	DueMillis     int64
	CreatedMillis int64
	UpdatedMillis int64
}

// notices are the records of a notification: none when nobody listens. They go into the command that makes the change, so
// that there is no change without its notice and no notice without its change.
func (t Tenant) notices(channel Channel, payload any) []command.Record {
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // Never fails: it ends the process instead.
	return t.noticesAs(ids.Mint(t.now(), entropy, 0), channel, payload)
}

// noticesAs is notices under an id that the caller has chosen: a notice that is there already refuses the command.
func (t Tenant) noticesAs(id ids.UUID, channel Channel, payload any) []command.Record {
	at, err := webhooks.find(t, keyOfName(string(channel)))
	if err != nil {
		return nil // Nobody listens; or nothing can be read, and then nothing can be written either.
	}
	now := t.now()
	d := Delivery{ID: id, Webhook: at.thing.ID, Channel: channel, DueMillis: now, CreatedMillis: now, UpdatedMillis: now}
	body := struct {
		Channel   Channel `json:"channel"`
		Timestamp string  `json:"timestamp"`
		ID        string  `json:"id"`
		Payload   any     `json:"payload"`
	}{channel, timeText(now), d.ID.String(), payload}
	d.Body = encoded(&body)
	return []command.Record{t.deliveryRecord(&d, 0), t.dueRecord(Due{now, DueDelivery, d.ID})}
}

// timeText is a time as payloads tell it.
func timeText(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Notify queues a notification of a change that was made by another command. A crash in between loses it.
func (t Tenant) Notify(ctx context.Context, channel Channel, payload any) error {
	records := t.notices(channel, payload)
	if len(records) == 0 {
		return nil
	}
	return t.putRecords(ctx, records)
}

func (t Tenant) deliveryRecord(d *Delivery, version uint64) command.Record {
	return command.Record{Kind: command.RecordDelivery, Marketplace: t.marketplace, ID: d.ID.String(), Value: encoded(d), Expect: version}
}

// DeliveryAt is a delivery with the version that was read.
type DeliveryAt struct {
	Delivery
	version uint64
}

// DeliveryAt returns a delivery, or ErrNotFound.
func (t Tenant) DeliveryAt(_ context.Context, id ids.UUID) (DeliveryAt, error) {
	r, err := one(t, t.store.Groups.Meta(), func(b shard.Books) (shard.StoredRecord, bool) {
		return b.Record(command.RecordDelivery, t.marketplace, id.String())
	})
	if err != nil {
		return DeliveryAt{}, err
	}
	return DeliveryAt{decoded[Delivery](r.Value), r.Version}, nil
}

// StepDelivery writes what became of an attempt. ErrChanged when another worker was faster.
func (t Tenant) StepDelivery(ctx context.Context, at DeliveryAt, step func(*Delivery)) error {
	after := at.Delivery
	step(&after)
	after.UpdatedMillis = t.now()
	if after.Done {
		after.DueMillis = t.now() + DeliveryKept.Milliseconds()
	}
	err := t.putRecords(ctx, []command.Record{
		t.doneRecord(Due{at.DueMillis, DueDelivery, at.ID}), t.dueRecord(Due{after.DueMillis, DueDelivery, after.ID}),
		t.deliveryRecord(&after, at.version),
	})
	return changed(err)
}

// ForgetDelivery deletes a delivery from the log.
func (t Tenant) ForgetDelivery(ctx context.Context, at DeliveryAt) error {
	gone := command.Record{Kind: command.RecordDelivery, Marketplace: t.marketplace, ID: at.ID.String(), Expect: at.version}
	return changed(t.putRecords(ctx, []command.Record{gone, t.doneRecord(Due{at.DueMillis, DueDelivery, at.ID})}))
}

// changed tells a lost race from other failures.
func changed(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrChanged
	}
	return err
}

// Deliveries lists the deliveries of a webhook, newest first: ids start with their time, so a walk from the end would be
// cheaper; the log is bounded by a day.
func (t Tenant) Deliveries(_ context.Context, webhook ids.UUID, limit int) ([]Delivery, error) {
	return read(t, t.store.Groups.Meta(), func(b shard.Books) (all []Delivery) {
		for after, more := "", true; more; {
			var records []shard.StoredRecord
			records, more = b.Records(command.RecordDelivery, t.marketplace, after, scanStep)
			for i := range records {
				after = records[i].ID
				if d := decoded[Delivery](records[i].Value); d.Webhook == webhook {
					all = append([]Delivery{d}, all[:min(len(all), limit-1)]...)
				}
			}
		}
		return all
	})
}
