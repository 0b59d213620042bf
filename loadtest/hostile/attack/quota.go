package attack

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// quota creates objects of six kinds. When the node answers 409 limit_exceeded to a kind, it goes on to create that kind in every hundredth
// request only.
type quota struct {
	next atomic.Int64
	full [6]atomic.Bool
}

// quotaKinds are the kinds of objects that are created.
var quotaKinds = [6]struct{ name, method, path string }{
	{"campaigns", "POST", "/campaign-service/campaigns?vendor_id=v1"},
	{"products", "PUT", "/catalog-search-service/catalogs/products"},
	{"segments", "PUT", "/segment-service/segments"},
	{"assets", "POST", "/assets/asset?vendor_id=v1"},
	{"webhooks", "POST", "/webhooks/webhooks"},
	{"keys", "POST", "/key-service/keys"},
}

func (q *quota) Prepare(ctx context.Context, e *Env) error { return makeVendor(ctx, e) }

func (q *quota) Attack(ctx context.Context, e *Env) error {
	several(4, func(int) {
		for pause(ctx, 100*time.Millisecond) {
			q.create(ctx, e)
		}
	})
	return nil
}

func (q *quota) create(ctx context.Context, e *Env) {
	n := q.next.Add(1)
	kind := int(n) % len(quotaKinds)
	if q.full[kind].Load() && n%100 >= int64(len(quotaKinds)) {
		return
	}
	k := quotaKinds[kind]
	status, answer, err := e.API.Call(ctx, k.method, public+k.path, []byte(quotaBody(k.name, n)))
	e.Tally.Add("sent", 1)
	e.Tally.answered(status, err)
	switch {
	case err != nil:
	case status/100 == 2:
		e.Tally.Add("created "+k.name, 1)
	case status == 409 && bytes.Contains(answer, []byte(`"limit_exceeded"`)):
		e.Tally.Add("limit_exceeded "+k.name, 1)
		q.full[kind].Store(true)
	}
}

// quotaBody is the body of a creation; n differs between creations.
func quotaBody(kind string, n int64) string {
	at := strconv.FormatInt(n, 10)
	switch kind {
	case "campaigns":
		return campaignBody("Campaign "+at, 0, 200)
	case "products":
		return productsBody(int(n)*100, 100)
	case "segments":
		return `{"segments":[{"id":"s` + at + `","name":"Segment"}]}`
	case "assets":
		return `{"name":"Asset` + at + `","externalUrl":"https://cdn.example.com/` + at + `.jpg"}`
	case "webhooks":
		return fmt.Sprintf(`{"channel":"campaign:create","url":"https://hooks.example.com/%s"}`, at)
	default:
		return `{"name":"Key ` + at + `","kind":"auction"}`
	}
}
