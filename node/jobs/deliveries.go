package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/store"
)

// deliveriesAtOnce bounds the notifications that wait for an answer. BOUND: a receiver that does not answer takes 5 s.
const deliveriesAtOnce = 16

// DeliveryWorker sends notifications, at least once each, until the receiver accepts one, refuses it for good, or the attempts
// are used up. The log gets the whole cause of a failure; the owner of the webhook sees its delivery.Reason.
func DeliveryWorker(out *delivery.Client, now func() time.Time, log *slog.Logger) Worker {
	return Worker{Kind: store.TaskDelivery, AtOnce: deliveriesAtOnce, Do: func(ctx context.Context, t store.Tenant, d store.ScheduledTask) error {
		at, err := t.VersionedDelivery(ctx, d.ID)
		if err != nil {
			return err
		}
		switch {
		case at.DueMillis != d.Millis:
			return store.ErrWrongState // The task belongs to an earlier attempt.
		case at.Done:
			return t.ForgetDelivery(ctx, at)
		}
		failed := deliver(ctx, out, t, &at, now())
		if ctx.Err() != nil {
			return ctx.Err() // The attempt was interrupted, so it does not count.
		}
		if attempted := !errors.Is(failed, delivery.ErrStale) && !errors.Is(failed, delivery.ErrDeleted); failed != nil && attempted {
			log.Warn("delivery_failed", slog.Int("marketplace", int(t.Marketplace())), slog.String("webhook", at.Webhook.String()),
				slog.String("delivery", at.ID.String()), slog.Int("attempt", at.Attempts+1), slog.Bool("permanent", delivery.Permanent(failed)), slog.Any("err", failed))
		}
		return t.StepDelivery(ctx, at, func(x *store.Delivery) { recordAttempt(x, failed, now()) })
	}}
}

func deliver(ctx context.Context, out *delivery.Client, t store.Tenant, at *store.VersionedDelivery, now time.Time) error {
	if now.UnixMilli()-at.CreatedMillis > store.DeliveryStale.Milliseconds() {
		return delivery.ErrStale
	}
	hook, err := t.Webhook(ctx, at.Webhook)
	if errors.Is(err, store.ErrNotFound) {
		return delivery.ErrDeleted
	}
	if err != nil {
		return err
	}
	return out.Post(ctx, hook.URL, hook.Secret, at.Body)
}

// recordAttempt stores the result of an attempt in a delivery, and the time of the next one.
func recordAttempt(x *store.Delivery, failed error, now time.Time) {
	x.Attempts++
	if failed == nil {
		x.Done, x.Delivered, x.Reason = true, true, ""
		return
	}
	x.Reason = delivery.Reason(failed)
	if delivery.Permanent(failed) || x.Attempts > store.DeliveryAttempts {
		x.Done = true
		return
	}
	x.DueMillis = now.Add(store.DeliveryWait << (x.Attempts - 1)).UnixMilli()
}
