package serving_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/model"
)

func recorded(t *testing.T, core *serving.Core) serving.Recorded {
	t.Helper()
	r, code, err := core.Recorded(context.Background(), servingtest.Marketplace, time.UnixMilli(servingtest.NowMillis).Add(time.Hour))
	if code != apierr.OK || err != nil {
		t.Fatal(code, err)
	}
	return r
}

// The recorded auctions contain every bid that could have competed, and those without money too; and nothing of the
// shopper or the page.
func TestRecorded(t *testing.T) {
	node, core := recording(1)
	const requests = 20
	winners := 0
	for i := range requests {
		body := fmt.Sprintf(`{"auctions":[{"type":"listings","slots":3,"products":{"ids":["p-%07d","p-%07d","p-%07d"]},"searchQuery":"secret-query",`+
			`"opaqueUserId":"secret-user"}]}`, i, i+20, i+40)
		a := ask(core, "POST", "/v2/auctions", node.AuctionKey, body)
		if a.status != 201 {
			t.Fatal(a.body)
		}
		winners += strings.Count(a.body, `"rank"`)
	}
	r := recorded(t, core)
	if len(r.Auctions) != requests || r.Every != 1 || r.Omitted != 0 || winners == 0 {
		t.Fatalf("%d auctions, %+v, %d winners", len(r.Auctions), r, winners)
	}
	bids := 0
	for _, a := range r.Auctions {
		bids += len(a.Bids)
		if a.Slots != 3 || a.Format != model.Listing || a.AtMillis != servingtest.NowMillis {
			t.Errorf("%+v", a)
		}
		for _, b := range a.Bids {
			if b.Amount <= 0 || b.Quality == 0 || b.Quality > model.QualityOne || b.Campaign >= len(r.Campaigns) {
				t.Errorf("%+v", b)
			}
		}
	}
	if bids < winners {
		t.Errorf("%d bids, but %d winners", bids, winners)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"secret", "p-00000"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the recording contains %q", secret)
		}
	}
}

// A node that records nothing says so.
func TestRecordedOff(t *testing.T) {
	_, core := recording(0)
	if r := recorded(t, core); r.Every != 0 || len(r.Auctions) != 0 || r.From != r.To {
		t.Errorf("%+v", r)
	}
}
