package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

func TestOneSeedGivesOneMarket(t *testing.T) {
	small := Options{Seed: 7, Products: 500, Vendors: 20, Campaigns: 40}
	if !reflect.DeepEqual(Generate(small), Generate(small)) {
		t.Error("the same options gave two different markets")
	}
	other := small
	other.Seed = 8
	if reflect.DeepEqual(Generate(small).Products, Generate(other).Products) {
		t.Error("another seed gave the same products")
	}
}

func TestGeneratedMarketIsConsistent(t *testing.T) {
	m := Generate(Options{Seed: 1, Products: 5000, Vendors: 50, Campaigns: 200})
	vendorOf := map[string]string{}
	categories := map[string]bool{"": true}
	for _, c := range m.Categories {
		if !categories[c.ParentID] {
			t.Errorf("category %s comes before its parent %s", c.ID, c.ParentID)
		}
		categories[c.ID] = true
	}
	for _, p := range m.Products {
		vendorOf[p.ID] = p.Vendors[0]
		if p.Price <= 0 || !categories[p.Categories[0]] || p.Quality > model.QualityOne {
			t.Fatalf("implausible product %+v", p)
		}
	}
	if len(m.Campaigns) != 200 {
		t.Errorf("got %d campaigns, want 200", len(m.Campaigns))
	}
	for _, c := range m.Campaigns {
		if len(c.Bids) == 0 || c.Budget < units(5) {
			t.Errorf("campaign %q has %d bids and budget %d", c.Name, len(c.Bids), c.Budget)
		}
		for _, b := range c.Bids {
			if vendorOf[b.Target] != c.VendorID {
				t.Fatalf("campaign of %s bids on %s of %s", c.VendorID, b.Target, vendorOf[b.Target])
			}
			if b.Amount < cents(0.05) || b.Amount > cents(4) {
				t.Fatalf("implausible bid of %d micros", b.Amount)
			}
		}
	}
}

// recorder is a marketplace that counts what was written to it.
type recorder struct {
	mu                           sync.Mutex
	vendors, products, campaigns int
	batchMax                     int
	assets, approved             int
	deposits                     money.Micros
	failAt                       int // The number of the campaign whose creation fails; 0: none.
}

func (r *recorder) PutVendors(_ context.Context, v []model.Vendor) error {
	r.vendors += len(v)
	r.batchMax = max(r.batchMax, len(v))
	return nil
}

func (r *recorder) PutCategories(context.Context, []model.Category) error { return nil }

func (r *recorder) PutProducts(_ context.Context, p []model.Product) error {
	r.products += len(p)
	r.batchMax = max(r.batchMax, len(p))
	return nil
}

func (r *recorder) Adjust(_ context.Context, _ string, _ ids.UUID, amount money.Micros, _ bool, _ string) (money.Micros, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deposits += amount
	return amount, nil
}

func (r *recorder) CreateCampaign(_ context.Context, c *model.Campaign, bids []model.Bid) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range bids {
		if x := bids[i].Creative; (x == nil) != (c.Format == model.Listing) || x != nil && x.TemplateID == "" && x.Assets[0].AssetID == "" {
			return errors.New(c.Name + " has a creative without content")
		}
	}
	if r.campaigns++; r.campaigns == r.failAt {
		return store.ErrUnavailable
	}
	return nil
}

func (r *recorder) CreateSlots(_ context.Context, all []store.Slot) ([]store.Slot, error) {
	return all, nil
}

func (r *recorder) CreateTemplate(_ context.Context, x *store.Template) error {
	x.ID = ids.UUID{1}
	return nil
}

func (r *recorder) CreatePlacement(_ context.Context, x *store.Placement) error {
	if x.Template == (ids.UUID{}) {
		return errors.New("a placement without a template")
	}
	return nil
}

func (r *recorder) CreateAsset(_ context.Context, x *store.Asset, _ string) error {
	r.assets++
	x.ID = ids.UUID{byte(r.assets)}
	return nil
}

func (r *recorder) ReviewAsset(_ context.Context, id ids.UUID, status store.AssetStatus, _ string) (store.Asset, error) {
	if status != store.AssetApproved {
		return store.Asset{}, errors.New("not approved")
	}
	r.approved++
	return store.Asset{ID: id, Status: status}, nil
}

func (r *recorder) Vendors(context.Context, store.Page, []string) ([]model.Vendor, bool, error) {
	return make([]model.Vendor, min(r.vendors, 1)), false, nil
}

// adCampaigns is the number of campaigns beside the listings: three for each department, hotels, flights.
const adCampaigns = 3*10 + 2

func TestSeedFillsAnEmptyMarketplaceOnce(t *testing.T) {
	r := &recorder{}
	o := Options{Products: 1200, Vendors: 30, Campaigns: 60}
	for _, want := range []bool{true, false} {
		seeded, err := Seed(t.Context(), r, o, 1)
		if err != nil || seeded != want {
			t.Fatalf("Seed gave %v, %v; want %v", seeded, err, want)
		}
	}
	if r.vendors != 30 || r.products != 1200+24 || r.campaigns != 60+adCampaigns || r.assets != 10 || r.approved != 10 || r.deposits == 0 {
		t.Errorf("wrote %+v", r)
	}
	if r.batchMax > seedBatch {
		t.Errorf("a batch of %d items, want at most %d", r.batchMax, seedBatch)
	}
}

func TestAnInterruptedSeedIsFinishedByTheNextStart(t *testing.T) {
	r := &recorder{failAt: 20}
	o := Options{Products: 1200, Vendors: 30, Campaigns: 60}
	if _, err := Seed(t.Context(), r, o, 1); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("the first start ended with %v", err)
	}
	seeded, err := Seed(t.Context(), r, o, 2)
	if err != nil || !seeded {
		t.Fatalf("the second start seeded %t, %v", seeded, err)
	}
	if r.vendors != 30 || r.campaigns < 20+60+adCampaigns || r.campaigns >= 20+60+adCampaigns+writersMax {
		t.Errorf("wrote %+v", r)
	}
}

// storefront answers auctions with two winners and accepts events that a node would accept.
func storefront(t *testing.T, events *atomic.Int64) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		var body struct {
			Auctions    []map[string]any
			Impressions []map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/v2/events" {
			events.Add(int64(len(body.Impressions)))
			for _, e := range body.Impressions {
				keys := []string{"id", "occurredAt", "opaqueUserId", "resolvedBidId"}
				if slices.ContainsFunc(keys, func(k string) bool { return e[k] == nil || e[k] == "" }) {
					t.Errorf("incomplete impression %v", e)
				}
			}
			_, _ = w.Write([]byte("{}"))
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"results":[{"winners":[{"id":"p1","resolvedBidId":"a"},{"id":"p2","resolvedBidId":"b"}]}]}`))
	}))
}

func TestShoppersReportImpressions(t *testing.T) {
	var events atomic.Int64
	shop := storefront(t, &events)
	defer shop.Close()
	s := NewShoppers(shop.URL, "k", Generate(Options{Products: 100, Vendors: 5, Campaigns: 5}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx, 8, 1) }()
	for s.Counts().Auctions.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	c := s.Counts()
	if c.Failures.Load() != 0 || c.Winners.Load() < c.Impressions.Load() || events.Load() < c.Impressions.Load() {
		t.Errorf("%d failures, %d winners, %d impressions counted, %d received",
			c.Failures.Load(), c.Winners.Load(), c.Impressions.Load(), events.Load())
	}
	if c.Impressions.Load() == 0 {
		t.Error("the shoppers reported no impression")
	}
}
