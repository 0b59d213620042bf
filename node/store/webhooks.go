package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Channel is a kind of event that a webhook can be notified of.
type Channel string

// The channels that notifications are sent for. The interface has more; webhooks can be registered for them, but nothing is sent.
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

// ChannelTest is the channel of notices that TestWebhook sends. No webhook can be registered for it: its notices go to the webhook
// that is tested, and a receiver that knows its channel alone takes them for no change.
const ChannelTest Channel = "webhook:test"

// Webhook is an address that receives the notifications of a channel.
type Webhook struct {
	ID            ids.UUID
	Channel       Channel // A channel has at most one webhook.
	URL           string
	Secret        string
	CreatedMillis int64
	UpdatedMillis int64
}

// ListPosition is the webhook's position in lists.
func (x *Webhook) ListPosition() string { return positionOf(x.CreatedMillis, x.ID) }

var webhooks = collection[Webhook]{itemKind: command.RecordWebhook, indexKind: command.RecordWebhookIndex, key: func(x *Webhook) itemKey {
	return itemKey{x.ID, x.CreatedMillis, string(x.Channel)}
}}

// CreateWebhook stores a new webhook and fills in its id and times. ErrAlreadyExists when the channel has one, *Limit when the
// marketplace has as many as it may have.
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
	return at.item, err
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

// DeleteWebhook deletes a webhook. Notifications that are still to be sent to it are dropped.
func (t Tenant) DeleteWebhook(ctx context.Context, id ids.UUID) error {
	return webhooks.remove(ctx, t, id)
}

// Bounds of deliveries.
const (
	DeliveryAttempts = 5 // BOUND: repeats of one notification. The bound is the interface's.
	// DeliveryWait is the wait before the first repeat. It doubles: 1.5, 3, 6, 12 and 24 s make 46.5 s, so that the last repeat
	// comes within a minute although the worker looks every second and a receiver takes some seconds to refuse.
	DeliveryWait      = 1500 * time.Millisecond
	DeliveryRetention = 24 * time.Hour   // BOUND: how long the log of deliveries keeps an entry.
	DeliveryStale     = 10 * time.Minute // BOUND: a notification that was not sent for so long, because there was no leader, is dropped.
)

// Delivery is a notification that is still to be sent, or one that the log of deliveries keeps.
type Delivery struct {
	ID            ids.UUID
	Webhook       ids.UUID
	Channel       Channel
	Body          json.RawMessage // The bytes that are sent and signed.
	Attempts      int
	Done          bool // Delivered or given up.
	Delivered     bool
	Reason        string // The reason of the last failure.
	DueMillis     int64
	CreatedMillis int64
	UpdatedMillis int64
}

// notices are the records of a notification; none when the channel has no webhook. They belong into the command that makes the
// change, so that neither exists without the other.
func (t Tenant) notices(channel Channel, payload any) []command.Record {
	return t.noticesAs(t.randomID(), channel, payload)
}

// noticesAs is notices under an id that the caller chooses. The command is refused when a notification with the id exists.
func (t Tenant) noticesAs(id ids.UUID, channel Channel, payload any) []command.Record {
	at, err := webhooks.find(t, keyOfName(string(channel)))
	if err != nil {
		return nil // The channel has no webhook. If the records cannot be read, the command will fail as well.
	}
	return t.deliveryRecords(t.newDelivery(id, &at.item, channel, payload))
}

// newDelivery is a notification of a webhook that is to be sent now.
func (t Tenant) newDelivery(id ids.UUID, hook *Webhook, channel Channel, payload any) *Delivery {
	now := t.now()
	d := Delivery{ID: id, Webhook: hook.ID, Channel: channel, DueMillis: now, CreatedMillis: now, UpdatedMillis: now}
	body := struct {
		Channel   Channel `json:"channel"`
		Timestamp string  `json:"timestamp"`
		ID        string  `json:"id"`
		Payload   any     `json:"payload"`
	}{channel, timeText(now), d.ID.String(), payload}
	d.Body = encoded(&body)
	return &d
}

// testPayload is what a notice of ChannelTest is about.
type testPayload struct {
	WebhookID string  `json:"webhookId"`
	Channel   Channel `json:"channel"`
}

// TestWebhook stores a notification that changes nothing; it is sent, repeated and kept like every other. ErrWrongState while the
// webhook has a test that is still to be sent. BOUND: so at most one test of a webhook waits; two at the same moment may both be made.
func (t Tenant) TestWebhook(ctx context.Context, id ids.UUID) (Delivery, error) {
	at, err := webhooks.find(t, keyOfID(id))
	if err != nil {
		return Delivery{}, err
	}
	all, err := t.deliveriesOf(id, 1, func(d *Delivery) bool { return d.Channel == ChannelTest && !d.Done })
	if err != nil {
		return Delivery{}, err
	}
	if len(all) > 0 {
		return Delivery{}, ErrWrongState
	}
	d := t.newDelivery(t.randomID(), &at.item, ChannelTest, testPayload{id.String(), at.item.Channel})
	return *d, t.putRecords(ctx, t.deliveryRecords(d))
}

// deliveryRecords are the records of a new delivery. They are refused as ErrAlreadyExists when there is one with its id.
func (t Tenant) deliveryRecords(d *Delivery) []command.Record {
	return []command.Record{t.deliveryRecord(d, 0), t.scheduleRecord(ScheduledTask{d.DueMillis, TaskDelivery, d.ID})}
}

// timeText is a time in the form that payloads have: RFC 3339 in UTC with milliseconds.
func timeText(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (t Tenant) deliveryRecord(d *Delivery, version uint64) command.Record {
	return command.Record{Kind: command.RecordDelivery, Marketplace: t.marketplace, ID: d.ID.String(), Value: encoded(d), Expect: version}
}

// VersionedDelivery is a delivery with the version that was read.
type VersionedDelivery struct {
	Delivery
	version uint64
}

// VersionedDelivery returns a delivery, or ErrNotFound.
func (t Tenant) VersionedDelivery(_ context.Context, id ids.UUID) (VersionedDelivery, error) {
	r, err := readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (shard.StoredRecord, bool) {
		return b.Record(command.RecordDelivery, t.marketplace, id.String())
	})
	if err != nil {
		return VersionedDelivery{}, err
	}
	return VersionedDelivery{decoded[Delivery](r.Value), r.Version}, nil
}

// StepDelivery writes the result of an attempt. ErrChanged when another worker was faster.
func (t Tenant) StepDelivery(ctx context.Context, at VersionedDelivery, step func(*Delivery)) error {
	after := at.Delivery
	step(&after)
	after.UpdatedMillis = t.now()
	if after.Done {
		after.DueMillis = t.now() + DeliveryRetention.Milliseconds()
	}
	err := t.putRecords(ctx, []command.Record{
		t.unscheduleRecord(ScheduledTask{at.DueMillis, TaskDelivery, at.ID}), t.scheduleRecord(ScheduledTask{after.DueMillis, TaskDelivery, after.ID}),
		t.deliveryRecord(&after, at.version),
	})
	return changed(err)
}

// ForgetDelivery deletes a delivery from the log. ErrChanged when another worker was faster.
func (t Tenant) ForgetDelivery(ctx context.Context, at VersionedDelivery) error {
	deletion := command.Record{Kind: command.RecordDelivery, Marketplace: t.marketplace, ID: at.ID.String(), Expect: at.version}
	return changed(t.putRecords(ctx, []command.Record{deletion, t.unscheduleRecord(ScheduledTask{at.DueMillis, TaskDelivery, at.ID})}))
}

// changed returns ErrChanged when an error means that another worker has deleted the record.
func changed(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrChanged
	}
	return err
}

// Deliveries lists at most limit deliveries of a webhook, newest first, with those whose notices are not moved yet. It reads the
// whole log, which is bounded by a day; ids start with their time, so a scan from the end would be cheaper.
func (t Tenant) Deliveries(_ context.Context, webhook ids.UUID, limit int) ([]Delivery, error) {
	waiting, err := t.unmoved(webhook, limit) // First, so that one that is moved meanwhile is found.
	if err != nil {
		return nil, err
	}
	moved, err := t.deliveriesOf(webhook, limit, func(*Delivery) bool { return true })
	all := slices.Concat(moved, waiting)
	slices.SortStableFunc(all, func(a, b Delivery) int { return slices.Compare(b.ID[:], a.ID[:]) })
	all = slices.CompactFunc(all, func(a, b Delivery) bool { return a.ID == b.ID }) // It keeps the moved one.
	return all[:min(len(all), limit)], err
}

// deliveriesOf lists the newest deliveries of a webhook that match, at most limit, without those whose notices are not moved yet.
func (t Tenant) deliveriesOf(webhook ids.UUID, limit int, match func(*Delivery) bool) ([]Delivery, error) {
	return read(t, t.store.Groups.Meta(), func(b shard.Queries) (all []Delivery) {
		for after, more := "", true; more; {
			var records []shard.StoredRecord
			records, more = b.Records(command.RecordDelivery, t.marketplace, after, scanStep)
			for i := range records {
				after = records[i].ID
				if d := decoded[Delivery](records[i].Value); d.Webhook == webhook && match(&d) {
					all = append([]Delivery{d}, all[:min(len(all), limit-1)]...)
				}
			}
		}
		return all
	})
}
