package campaigns_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// A vendor is deleted after a request was checked and before it takes effect, as happens on two nodes: through every
// entry point the campaign stays off, and the answer is that of a request that comes later.
func TestAVendorIsDeletedWhileARequestIsUnderWay(t *testing.T) {
	activate, creation := change("activate", members{"active": "true"}, "invalid_operation"), create("plain", nil, "invalid_vendor")
	for _, p := range entryPoints() {
		for _, c := range []*entryCase{&activate, &creation} {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				w := managetest.New(t)
				stock(t, w, "management", "v", 1)
				at, query := p.path("v")
				method := http.MethodPost
				if !c.creates {
					method, at, query = http.MethodPatch, at+"/"+c.campaign(t, w, "v").String(), ""
				}
				places, _ := p.places(c)
				w.BeforeNextCommand(func() { deleted(t, w, "v") })
				rec := call(w, method, at+query, p.key(w, "v"), p.body(c, places, "v"))
				if got := resultOf(t, rec); got != c.want {
					t.Errorf("result %q, want %q: %s", got, c.want, rec.Body)
				}
				for _, x := range state(t, w, "v") {
					if x.Active {
						t.Errorf("a campaign of a deleted vendor is on: %+v", x)
					}
				}
			})
		}
	}
}

// A catalog deletes a vendor and brings it back at the same moment: whichever request is between which commands of
// the other, the vendor's group says in the end what the catalog says.
func TestAVendorIsDeletedAndBroughtBackAtTheSameMoment(t *testing.T) {
	const path = vendors + "?ids=v"
	put := func(w *managetest.Environment, node http.Handler) {
		send(t, node, w, "PUT", vendors, `{"vendors":[{"id":"v","name":"V"}]}`)
	}
	remove := func(w *managetest.Environment, node http.Handler) { send(t, node, w, "DELETE", path, "") }
	for name, x := range map[string]struct {
		first, second func(*managetest.Environment, http.Handler)
	}{
		"back while it is deleted": {remove, put}, "deleted while it comes back": {put, remove},
		"deleted twice": {remove, remove},
	} {
		marked := map[bool]int{}
		for step := range 8 {
			w := managetest.New(t)
			other := w.Node(t)
			stock(t, w, "management", "v", 1)
			id := new(entryCase).campaign(t, w, "v")
			if name == "deleted while it comes back" {
				deleted(t, w, "v")
			}
			after(w, step, func() { x.second(w, other) })
			x.first(w, w.Server)
			w.BeforeNextCommand(func() {})
			is := agrees(t, w, id)
			marked[is]++
			if t.Failed() {
				t.Fatalf("%s, before command %d", name, step)
			}
		}
		t.Log(name, marked)
		if name != "deleted twice" && (marked[true] == 0 || marked[false] == 0) {
			t.Errorf("%s: of the ends %v one was never met", name, marked)
		}
	}
}

// after runs do before the n-th of the next commands.
func after(w *managetest.Environment, n int, do func()) {
	w.BeforeNextCommand(func() {
		if n == 0 {
			do()
			return
		}
		after(w, n-1, do)
	})
}

// agrees checks that the group of vendor v marks it exactly when the catalog does not have it, and that its campaign
// cannot be switched on then, even past all checks of a node.
func agrees(t *testing.T, w *managetest.Environment, campaign ids.UUID) (marked bool) {
	t.Helper()
	st := w.Store.Tenant(managetest.Main)
	err := w.Store.Groups.Read(w.Store.Groups.GroupOf(ids.ShardOf(ids.AccountOf(managetest.Main, "v"))), func(r shard.Reader) error {
		marked = !shard.Queries{R: r}.Deletion(managetest.Main, "v").IsZero()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Vendor(t.Context(), "v"); errors.Is(err, store.ErrNotFound) != marked {
		t.Errorf("the catalog says %v, and the group marks the vendor as deleted: %t", err, marked)
	}
	err = st.PatchCampaign(t.Context(), &command.PatchCampaign{Campaign: campaign, Active: new(true)})
	if errors.Is(err, store.ErrVendorDeleted) != marked {
		t.Errorf("the vendor is deleted: %t, and its campaign is switched on with %v", marked, err)
	}
	return marked
}

func send(t *testing.T, node http.Handler, w *managetest.Environment, method, target, body string) {
	t.Helper()
	if rec := callAt(node, w, method, target, "management", body); rec.Code != http.StatusOK {
		t.Errorf("%s %s: %d %s", method, target, rec.Code, rec.Body)
	}
}

// The state machine keeps the total of a CPA campaign, whoever wants to change it.
func TestTheStoreKeepsTheTotalOfACPACampaign(t *testing.T) {
	w := managetest.New(t)
	st := w.Store.Tenant(managetest.Main)
	c := model.Campaign{VendorID: "v", Name: "C", Charge: model.CPA, Budget: money.PerMajor, Period: model.Total}
	if err := st.CreateCampaign(t.Context(), &c, nil); err != nil {
		t.Fatal(err)
	}
	for period := range model.Total {
		err := st.PatchCampaign(t.Context(), &command.PatchCampaign{Campaign: c.ID, Period: &period})
		daily := model.Campaign{VendorID: "v", Name: fmt.Sprint(period), Charge: model.CPA, Budget: money.PerMajor, Period: period}
		made := st.CreateCampaign(t.Context(), &daily, nil)
		if !errors.Is(err, store.ErrNeedsTotal) || !errors.Is(made, store.ErrNeedsTotal) {
			t.Errorf("period %d: changed with %v, created with %v", period, err, made)
		}
	}
}
