package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	webhookBase = "/public/v1/webhooks/webhooks"
	oneWebhook  = webhookBase + "/{webhook_id}"
	webhookTag  = "Webhooks"
)

// webhookService is the resource. development allows webhooks to this machine.
type webhookService struct{ development bool }

// RegisterWebhooks mounts the operations.
func RegisterWebhooks(api huma.API, development bool) {
	s := webhookService{development}
	resource.Add(api, resource.Op{
		ID: "createWebhook", Method: http.MethodPost, Status: http.StatusCreated, Path: webhookBase, Tag: webhookTag,
		Doc: "Send the events of a channel to a URL: POST {channel, timestamp, id, payload}, signed in X-TS-Signature-256, at least once; " +
			"a channel has at most one.",
	}, s.create)
	resource.Add(api, resource.Op{ID: "listWebhooks", Method: http.MethodGet, Path: webhookBase, Tag: webhookTag, Doc: "List the webhooks, newest first, without their secrets."}, listWebhooks)
	resource.Add(api, resource.Op{ID: "updateWebhook", Method: http.MethodPatch, Path: oneWebhook, Tag: webhookTag, Doc: "Change a webhook."}, s.patch)
	resource.Add(api, resource.Op{
		ID: "deleteWebhook", Method: http.MethodDelete, Status: http.StatusNoContent, Path: oneWebhook, Tag: webhookTag, Doc: "Delete a webhook.",
	}, removeWebhook)
	resource.Add(api, resource.Op{
		ID: "listDeliveries", Method: http.MethodGet, Path: oneWebhook + "/deliveries", Tag: webhookTag,
		Doc: "List the notifications of a webhook of the last 24 hours, newest first, pending ones included.",
	}, deliveries)
	resource.Add(api, resource.Op{
		ID: "testWebhook", Method: http.MethodPost, Status: http.StatusAccepted, Path: oneWebhook + "/test", Tag: webhookTag,
		Doc: "Send a notification of the channel webhook:test to a webhook, whose result is among its deliveries; 409 while one is still to be sent.",
	}, testWebhook)
}

// WebhookBody is a new webhook.
type WebhookBody struct {
	URL     string `json:"url" minLength:"1" maxLength:"2083" format:"uri" doc:"https, to a public address."`
	Channel string `json:"channel" enum:"campaign:create,campaign:update,campaign:delete,bid:create,bid:update,bid:delete,asset:status,job:finish,wallet:empty,catalog:feed:download:finish,catalog:feed:upload:late,store:availability:download:finish,full:availability:upload:late,delta:availability:upload:late" doc:"Webhooks can be registered for the last five channels, but nothing is ever sent, because there are no feeds."`
	Secret  string `json:"secret,omitempty" maxLength:"32" doc:"The key that signs notifications. Default: random."`
}

// WebhookPatch changes the members that it contains.
type WebhookPatch struct {
	URL     string `json:"url,omitempty" maxLength:"2083" format:"uri" doc:"https, to a public address."`
	Channel string `json:"channel,omitempty" enum:"campaign:create,campaign:update,campaign:delete,bid:create,bid:update,bid:delete,asset:status,job:finish,wallet:empty,catalog:feed:download:finish,catalog:feed:upload:late,store:availability:download:finish,full:availability:upload:late,delta:availability:upload:late"`
	Secret  string `json:"secret,omitempty" maxLength:"32"`
}

// Webhook is a webhook in answers.
type Webhook struct {
	ID            string        `json:"id" format:"uuid"`
	MarketplaceID string        `json:"marketplaceId" format:"uuid"`
	URL           string        `json:"url"`
	Channel       string        `json:"channel"`
	Secret        string        `json:"secret,omitempty" doc:"Only in the answer to its creation."`
	CreatedAt     resource.Time `json:"createdAt"`
	UpdatedAt     resource.Time `json:"updatedAt"`
}

// WebhookList is one page of webhooks.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks"`
	resource.Page
}

// WebhookDelivery is one notification and its result.
type WebhookDelivery struct {
	ID        string          `json:"id" format:"uuid" doc:"The id in the notification."`
	Channel   string          `json:"channel"`
	Status    string          `json:"status" enum:"pending,delivered,failed"`
	Attempts  int             `json:"attempts"`
	Reason    string          `json:"reason,omitempty" doc:"The kind of the last failure; the node's log has the whole cause."`
	Body      resource.Object `json:"body" doc:"As it was sent."`
	CreatedAt resource.Time   `json:"createdAt"`
	UpdatedAt resource.Time   `json:"updatedAt"`
}

// WebhookLog is the latest part of the log.
type WebhookLog struct {
	Deliveries []WebhookDelivery `json:"deliveries"`
}

type (
	webhookCreateInput struct{ Body WebhookBody }
	webhookListInput   struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	webhookPatchInput struct {
		OneWebhook
		Body WebhookPatch
	}
	logInput struct {
		OneWebhook
		Limit int `query:"limit" minimum:"1" maximum:"100" default:"100"`
	}
	webhookOutput     struct{ Body Webhook }
	webhookListOutput struct{ Body WebhookList }
	logOutput         struct{ Body WebhookLog }
	deliveryOutput    struct{ Body WebhookDelivery }
)

// OneWebhook names a webhook.
type OneWebhook struct {
	ID string `path:"webhook_id" format:"uuid"`
}

func (s webhookService) check(url string) error {
	if url == "" {
		return nil
	}
	if err := delivery.Check(url, s.development); err != nil {
		return resource.Invalid(resource.At("value_error", err.Error(), "body", "url"))
	}
	return nil
}

func (s webhookService) create(ctx context.Context, in *webhookCreateInput) (*webhookOutput, error) {
	if err := s.check(in.Body.URL); err != nil {
		return nil, err
	}
	x := store.Webhook{URL: in.Body.URL, Channel: store.Channel(in.Body.Channel), Secret: cmp.Or(in.Body.Secret, rand.Text())}
	if err := resource.Tenant(ctx).CreateWebhook(ctx, &x); err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := webhookAnswer(ctx, &x)
	out.Body.Secret = x.Secret
	return out, nil
}

func listWebhooks(ctx context.Context, in *webhookListInput) (*webhookListOutput, error) {
	st := resource.Tenant(ctx)
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listWebhooks")
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(x store.Webhook) string { return x.ListPosition() },
		func(p store.Page) ([]store.Webhook, bool, error) { return st.Webhooks(ctx, p) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]Webhook, len(page))
	for i := range page {
		all[i] = webhookAnswer(ctx, &page[i]).Body
	}
	return &webhookListOutput{WebhookList{all, end}}, nil
}

func (s webhookService) patch(ctx context.Context, in *webhookPatchInput) (*webhookOutput, error) {
	if err := s.check(in.Body.URL); err != nil {
		return nil, err
	}
	x, err := resource.Tenant(ctx).ChangeWebhook(ctx, resource.ParseUUID(in.ID), func(x *store.Webhook) {
		x.URL = cmp.Or(in.Body.URL, x.URL)
		x.Channel = cmp.Or(store.Channel(in.Body.Channel), x.Channel)
		x.Secret = cmp.Or(in.Body.Secret, x.Secret)
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return webhookAnswer(ctx, &x), nil
}

func removeWebhook(ctx context.Context, in *OneWebhook) (*struct{}, error) {
	return nil, resource.ErrorOf(resource.Tenant(ctx).DeleteWebhook(ctx, resource.ParseUUID(in.ID)))
}

func webhookAnswer(ctx context.Context, x *store.Webhook) *webhookOutput {
	return &webhookOutput{Webhook{
		ID: x.ID.String(), MarketplaceID: resource.Tenant(ctx).Settings().ID.String(), URL: x.URL, Channel: string(x.Channel),
		CreatedAt: resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
	}}
}

func deliveries(ctx context.Context, in *logInput) (*logOutput, error) {
	st, id := resource.Tenant(ctx), resource.ParseUUID(in.ID)
	if _, err := st.Webhook(ctx, id); err != nil {
		return nil, resource.ErrorOf(err)
	}
	all, err := st.Deliveries(ctx, id, in.Limit)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := &logOutput{WebhookLog{make([]WebhookDelivery, len(all))}}
	for i := range all {
		out.Body.Deliveries[i] = deliveryAnswer(&all[i])
	}
	return out, nil
}

func testWebhook(ctx context.Context, in *OneWebhook) (*deliveryOutput, error) {
	d, err := resource.Tenant(ctx).TestWebhook(ctx, resource.ParseUUID(in.ID))
	if errors.Is(err, store.ErrWrongState) {
		return nil, resource.Refuse(apierr.InvalidOperation, "a test of this webhook is still to be sent, and a webhook has at most 1; wait for its result")
	}
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &deliveryOutput{deliveryAnswer(&d)}, nil
}

func deliveryAnswer(d *store.Delivery) WebhookDelivery {
	status := "pending"
	switch {
	case d.Delivered:
		status = "delivered"
	case d.Done:
		status = "failed"
	}
	return WebhookDelivery{
		ID: d.ID.String(), Channel: string(d.Channel), Status: status, Attempts: d.Attempts, Reason: delivery.PublicReason(d.Reason), Body: resource.Object(d.Body),
		CreatedAt: resource.Time(d.CreatedMillis), UpdatedAt: resource.Time(d.UpdatedMillis),
	}
}
