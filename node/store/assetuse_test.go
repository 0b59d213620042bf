package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// gallery is a marketplace with assets of two vendors, and what a naive model knows about who shows them.
type gallery struct {
	t         *testing.T
	tenant    store.Tenant
	random    *rand.Rand
	assets    []store.Asset
	slots     []string           // External ids, oldest first.
	shownBy   map[string]string  // The URL that a slot's fallback shows.
	campaigns []*galleryCampaign // Oldest first.
}

type galleryCampaign struct {
	model.Campaign
	bids []model.Bid // Without deleted ones.
}

func (g *gallery) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gallery) addSlot() {
	name := fmt.Sprintf("slot-%d", len(g.slots))
	_, err := g.tenant.CreateSlots(g.t.Context(), []store.Slot{{ExternalID: name}})
	g.must(err)
	g.slots = append(g.slots, name)
}

// addCampaign adds a campaign of up to three bids, each of which shows up to two assets of the vendor, by id or by URL, also
// those of the other vendor by URL.
func (g *gallery) addCampaign() {
	c := campaign(g.vendor(), fmt.Sprintf("c%d", len(g.campaigns)))
	c.Format, c.Charge = model.Banner, model.CPM
	bids := make([]model.Bid, g.random.IntN(4))
	for i := range bids {
		bids[i] = model.Bid{TargetType: model.TargetURL, Target: "https://shop.example", Amount: 1, Active: true, Creative: &model.Creative{Place: "s"}}
		for range g.random.IntN(3) {
			a := model.BannerAsset{AssetID: g.asset().ID.String()}
			if g.random.IntN(2) == 0 {
				a = model.BannerAsset{URL: g.asset().ExternalURL}
			}
			bids[i].Creative.Assets = append(bids[i].Creative.Assets, a)
		}
	}
	g.must(g.tenant.CreateCampaign(g.t.Context(), c, bids))
	g.campaigns = append(g.campaigns, &galleryCampaign{*c, bids})
}

func (g *gallery) vendor() string { return fmt.Sprintf("v%d", 1+g.random.IntN(2)) }

func (g *gallery) asset() *store.Asset { return &g.assets[g.random.IntN(len(g.assets))] }

// step changes something that exists.
func (g *gallery) step() {
	c := g.campaigns[g.random.IntN(len(g.campaigns))]
	switch g.random.IntN(5) {
	case 0:
		g.addCampaign()
	case 1: // A fallback shows another URL, or none.
		slot, url := g.slots[g.random.IntN(len(g.slots))], ""
		if g.random.IntN(3) > 0 {
			url = g.asset().ExternalURL
		}
		_, err := g.tenant.ChangeSlot(g.t.Context(), slot, func(s *store.Slot) { s.Fallback = []store.Fallback{{DeviceType: "mobile", URL: url}} })
		g.must(err)
		g.shownBy[slot] = url
	case 2:
		if c.Status != model.Terminated && len(c.bids) > 0 {
			at := g.random.IntN(len(c.bids))
			g.must(g.tenant.PatchBid(g.t.Context(), &command.PatchBid{Campaign: c.ID, Bid: c.bids[at].ID, Delete: true}))
			c.bids = slices.Delete(c.bids, at, at+1)
		}
	case 3:
		if c.Status != model.Terminated && g.random.IntN(2) == 0 {
			c.Status = model.Terminated
			g.must(g.tenant.PatchCampaign(g.t.Context(), &command.PatchCampaign{Campaign: c.ID, Status: &c.Status}))
		}
	case 4:
		if c.Status != model.Terminated { // A campaign that is switched off still shows its assets when it is switched on.
			g.must(g.tenant.PatchCampaign(g.t.Context(), &command.PatchCampaign{Campaign: c.ID, Active: new(g.random.IntN(2) == 0)}))
		}
	}
}

// uses is the naive model: the names of all slots and campaigns that show an asset, newest first.
func (g *gallery) uses(x *store.Asset) (slots, campaigns []string) {
	for _, name := range slices.Backward(g.slots) {
		if g.shownBy[name] == x.ExternalURL {
			slots = append(slots, name)
		}
	}
	for _, c := range slices.Backward(g.campaigns) {
		if c.VendorID != x.VendorID || c.Status == model.Terminated {
			continue
		}
		shown := false
		for i := range c.bids {
			for _, a := range c.bids[i].Creative.Assets {
				shown = shown || a.AssetID == x.ID.String() || a.URL == x.ExternalURL
			}
		}
		if shown {
			campaigns = append(campaigns, c.Name)
		}
	}
	return slots, campaigns
}

// check compares the uses of an asset, listed up to a number, with the model, and sometimes deletes the asset.
func (g *gallery) check(x *store.Asset, most int) {
	g.t.Helper()
	slots, campaigns := g.uses(x)
	got, err := g.tenant.AssetUses(g.t.Context(), x.ID, x.ExternalURL, most)
	g.must(err)
	var gotSlots, gotCampaigns []string
	for i := range got.Slots {
		gotSlots = append(gotSlots, got.Slots[i].ExternalID)
	}
	for i := range got.Campaigns {
		gotCampaigns = append(gotCampaigns, got.Campaigns[i].Name)
	}
	wantSlots, wantCampaigns := slots[:min(most, len(slots))], campaigns[:min(most, len(campaigns))]
	more := len(slots) > most || len(campaigns) > most
	if !slices.Equal(gotSlots, wantSlots) || !slices.Equal(gotCampaigns, wantCampaigns) || got.More != more {
		g.t.Fatalf("up to %d uses of %s: %v %v %v, want %v %v %v", most, x.Name, gotSlots, gotCampaigns, got.More, wantSlots, wantCampaigns, more)
	}
	if used := len(slots)+len(campaigns) > 0; used || g.random.IntN(4) == 0 {
		g.remove(x, used)
	}
}

// remove deletes an asset, which has to be refused if it is used.
func (g *gallery) remove(x *store.Asset, used bool) {
	g.t.Helper()
	_, err := g.tenant.DeleteAsset(g.t.Context(), x.ID, x.ExternalURL)
	_, refused := errors.AsType[*store.AssetInUse](err)
	if refused != used || refused && !errors.Is(err, store.ErrWrongState) || !refused && err != nil {
		g.t.Fatalf("the deletion of %s, used: %v: %v", x.Name, used, err)
	}
	if !used {
		g.assets = slices.DeleteFunc(g.assets, func(a store.Asset) bool { return a.ID == x.ID })
	}
}

// TestAssetUses changes slots, bids and campaigns at random, and compares what shows each asset with a naive model. Two of the
// six assets have one URL.
func TestAssetUses(t *testing.T) {
	for seed := range uint64(4) {
		w := managetest.New(t)
		g := &gallery{t: t, tenant: w.Store.Tenant(managetest.Main), random: rand.New(rand.NewPCG(seed, 5)), shownBy: map[string]string{}}
		for i := range 6 {
			x := store.Asset{VendorID: g.vendor(), Name: fmt.Sprintf("a%d", i), ExternalURL: fmt.Sprintf("https://cdn.example/%d.png", i%5)}
			g.must(g.tenant.CreateAsset(t.Context(), &x, ""))
			g.assets = append(g.assets, x)
		}
		for range 5 {
			w.Advance(1e9)
			g.addSlot()
			g.addCampaign()
		}
		for range 60 {
			w.Advance(1e9)
			g.step()
			x := *g.asset()
			g.check(&x, g.random.IntN(4))
			if len(g.assets) == 1 {
				break
			}
		}
	}
}

// TestAssetUsesOfManyCampaigns: what is behind the first page of a vendor's campaigns, or of a campaign's bids, is found.
func TestAssetUsesOfManyCampaigns(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	x := store.Asset{VendorID: "v1", Name: "A", ExternalURL: "https://cdn.example/a.png"}
	if err := tenant.CreateAsset(t.Context(), &x, ""); err != nil {
		t.Fatal(err)
	}
	for i := range 502 {
		c := campaign("v1", fmt.Sprintf("c%d", i))
		c.Format, c.Charge = model.Banner, model.CPM
		var bids []model.Bid
		if i == 0 {
			bids = make([]model.Bid, 502)
			for j := range bids {
				bids[j] = model.Bid{TargetType: model.TargetURL, Target: "https://shop.example", Amount: 1, Active: true, Creative: &model.Creative{Place: "s"}}
			}
			bids[501].Creative.Assets = []model.BannerAsset{{AssetID: x.ID.String()}}
		}
		if err := tenant.CreateCampaign(t.Context(), c, bids); err != nil {
			t.Fatal(err)
		}
	}
	_, err := tenant.DeleteAsset(t.Context(), x.ID, x.ExternalURL)
	if err == nil || !strings.Contains(err.Error(), `a bid of campaign "c0"`) || strings.Contains(err.Error(), "others") {
		t.Errorf("the deletion of an asset that the oldest of 502 campaigns shows with its last bid: %v", err)
	}
}
