package manage_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// inner is store.Groups under another name, because embedding Groups would hide its method Groups.
type inner = store.Groups

// together holds creations of campaigns back until a number of them have arrived. Then every request has found that it may
// continue before one of them takes effect, as it happens on several nodes.
type together struct {
	inner
	wait sync.WaitGroup
}

func (g *together) ProposeAt(ctx context.Context, id ids.Group, cmd []byte) ([]byte, uint64, error) {
	if c, err := command.Open(cmd); err == nil && c.Op == command.OpCreateCampaign {
		g.wait.Done()
		g.wait.Wait()
	}
	return g.inner.ProposeAt(ctx, id, cmd)
}

// TestPromotionsAtTheSameMomentMakeOneCampaign: of any number of calls one creates the campaign and is answered 200, the others
// find it; after it was deleted the same holds again.
func TestPromotionsAtTheSameMomentMakeOneCampaign(t *testing.T) {
	const calls = 8
	w := managetest.New(t)
	seller(t, w)
	w.Keys["page"] = w.ModalToken("management", "v")
	groups := w.Store.Groups
	for round := range 3 {
		barrier := &together{inner: groups}
		barrier.wait.Add(calls)
		w.Store.Groups = barrier
		var all sync.WaitGroup
		statuses := make([]int, calls)
		for i := range calls {
			all.Go(func() {
				rec := call(w, "POST", "/public/v1/modal-service/vendors/v/promote-my-shop", "page", fmt.Sprintf(`{"budgetAmount":%d}`, 100+i))
				statuses[i] = rec.Code
				if rec.Code != 200 && (rec.Code != 409 || errCode(t, rec) != "already_exists") {
					t.Errorf("%d %s", rec.Code, rec.Body)
				}
			})
		}
		all.Wait()
		w.Store.Groups = groups
		campaigns, _, err := w.Store.Tenant(managetest.Main).Campaigns(t.Context(), store.CampaignFilter{VendorID: "v", Limit: 100})
		if err != nil || len(campaigns) != 1 {
			t.Fatalf("round %d: %d campaigns, %v, want 1", round, len(campaigns), err)
		}
		for i, status := range statuses {
			if own := campaigns[0].Budget == money.Micros(100+i)*10_000; own != (status == 200) {
				t.Errorf("round %d: call %d was answered %d, and the campaign is its own: %t", round, i, status, own)
			}
		}
		rec := call(w, "GET", "/public/v1/modal-service/vendors/vendor-campaign", "page", "")
		if !strings.Contains(rec.Body.String(), `"exists":true`) {
			t.Errorf("round %d: %s", round, rec.Body)
		}
		if rec := call(w, "DELETE", "/public/v1/modal-service/vendors/v/campaigns/"+campaigns[0].ID.String(), "page", ""); rec.Code != 200 {
			t.Fatalf("round %d: %d %s", round, rec.Code, rec.Body)
		}
	}
}
