package demo

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// Places of the demo's storefront.
const (
	HomeSlot     = "home-top"     // Banner on the landing page.
	CategorySlot = "category-top" // Banner above a category.
	SearchSlot   = "search-side"  // Banner beside the results of a search.
	BrandRow     = "brand-row"    // Sponsored brands.
	Site         = "demo"         // Site that sells hotels and flights.
)

// Ads is what the market has beside its listings: banners with approved assets, sponsored brands, keywords, hotels and
// flights.
type Ads struct {
	Slots     []store.Slot
	Template  store.Template
	Placement store.Placement // Its template is Template.
	Assets    []store.Asset   // One for each department.
	Products  []model.Product
	Campaigns []Campaign // Their creatives have no ids of assets and templates before setIDs.

	assetOf map[string]int // Index of the asset by campaign name.
}

const headline = `{"type":"object","required":["headline","brandName"],"properties":{"headline":{"type":"string","maxLength":80},"brandName":{"type":"string","maxLength":80}}}`

// ads adds what a storefront has beside listings. It uses no random numbers, so that the listings of a seed stay the
// same.
func (g *generator) ads() {
	a := &g.m.Ads
	a.assetOf = map[string]int{}
	desktop := func(width, height int64) *store.Size { return &store.Size{Width: width, Height: height} }
	a.Slots = []store.Slot{
		{ExternalID: HomeSlot, Position: "landing", Desktop: desktop(1200, 300), Mobile: desktop(320, 100)},
		{ExternalID: CategorySlot, Position: "category", Desktop: desktop(1200, 200), Mobile: desktop(320, 100)},
		{ExternalID: SearchSlot, Position: "search", Desktop: desktop(300, 600), Mobile: desktop(320, 100)},
	}
	a.Template = store.Template{Name: "Brand row", Description: "A headline above products of a brand", AdFormat: "sponsored_brand", Schema: json.RawMessage(headline)}
	one := store.Range{Min: 1, Max: 1}
	a.Placement = store.Placement{
		ExternalID: BrandRow, Name: "Brand row", Logo: store.Range{Max: 1}, Title: store.Range{Min: 1, Max: 100}, Products: store.Range{Max: 10}, Assets: one,
	}
	for i := range departments {
		g.department(i)
	}
	g.travel()
}

// department creates three campaigns of one vendor for a department: a banner, a sponsored brand, and listings found by
// search.
func (g *generator) department(i int) {
	a, d := &g.m.Ads, &departments[i]
	vendor, own := g.sponsor(i)
	name, root := g.m.Vendors[vendor].Name, slug(d.name)
	shop := "https://shop.example/" + slug(name)
	picture := "https://images.example/" + root + ".png"
	a.Assets = append(a.Assets, store.Asset{VendorID: g.m.Vendors[vendor].ID, Name: d.name, MimeType: "image/png", ExternalURL: picture})

	words := keywordsOf(d)
	inCategory := []model.Trigger{{Kind: model.TriggerCategory, Value: root}}
	banner := func(place string, amount float64, triggers []model.Trigger) model.Bid {
		return model.Bid{
			Target: shop, TargetType: model.TargetURL, Amount: cents(amount + 0.1*float64(i)), Active: true, Triggers: triggers,
			Creative: &model.Creative{Place: place, Assets: []model.BannerAsset{{URL: picture}}},
		}
	}
	c := g.campaign(vendor, name+" banners", model.Banner, model.CPM)
	c.Bids = []model.Bid{banner(HomeSlot, 6, nil), banner(CategorySlot, 8, inCategory), banner(SearchSlot, 7, words)}
	a.assetOf[c.Name] = i
	a.Campaigns = append(a.Campaigns, c)

	c = g.campaign(vendor, name+" brand", model.SponsoredBrand, model.CPM)
	content := fmt.Sprintf(`{"headline":%q,"brandName":%q}`, d.name+" by "+name, name)
	c.Bids = []model.Bid{{
		Target: slug(name), TargetType: model.TargetBrand, Amount: cents(9), Active: true, Triggers: append(inCategory, words...),
		Creative: &model.Creative{Place: BrandRow, Title: d.name + " by " + name, Content: []byte(content), Products: own},
	}}
	a.Campaigns = append(a.Campaigns, c)

	c = g.campaign(vendor, name+" search", model.Listing, model.CPC)
	for _, id := range own {
		c.Bids = append(c.Bids, model.Bid{Target: id, Amount: cents(0.4), Active: true, Triggers: words})
	}
	a.Campaigns = append(a.Campaigns, c)
}

// sponsor returns the vendor of a department's campaigns, and up to three active products of it.
func (g *generator) sponsor(i int) (vendor int, own []string) {
	for off := range g.o.Vendors {
		vendor = (i + off) % g.o.Vendors
		own = own[:0]
		for _, at := range g.byVendor[vendor] {
			if g.m.Products[at].Active && len(own) < 3 {
				own = append(own, g.m.Products[at].ID)
			}
		}
		if len(own) > 0 {
			return vendor, own
		}
	}
	return i % g.o.Vendors, nil
}

// keywordsOf returns the things of a department as keywords; a search matches a keyword when it contains all of its
// words.
func keywordsOf(d *department) (words []model.Trigger) {
	for thing := range strings.SplitSeq(d.things, ",") {
		thing = strings.ToLower(thing)
		words = append(words, model.Trigger{Kind: model.TriggerBroad, Value: thing, Words: strings.Fields(thing)})
	}
	return words
}

func (g *generator) campaign(vendor int, name string, format model.AdFormat, charge model.ChargeType) Campaign {
	return Campaign{Campaign: model.Campaign{
		VendorID: g.m.Vendors[vendor].ID, Name: name, Type: "manual", Format: format, Charge: charge, Active: true, Status: model.Approved,
		Budget: units(100), Period: model.Daily,
	}}
}

// travel adds a few hotels and flights with a campaign for each kind.
func (g *generator) travel() {
	a := &g.m.Ads
	g.m.Categories = append(g.m.Categories,
		model.Category{ID: "travel", Name: "Travel"},
		model.Category{ID: "travel-city", ParentID: "travel", Name: "City"}, model.Category{ID: "travel-beach", ParentID: "travel", Name: "Beach"},
	)
	for k, kind := range []struct{ kind, one, name string }{{"hotels", "hotel", "Hotel"}, {"flights", "flight", "Flight"}} {
		vendor := k % g.o.Vendors
		c := g.campaign(vendor, g.m.Vendors[vendor].Name+" "+kind.kind, model.Listing, model.CPC)
		for n := range 12 {
			p := model.Product{
				ID: fmt.Sprintf("%s-%d", kind.one, n+1), Name: fmt.Sprintf("%s %s", kind.name, adjectives[n]), Vendors: []string{c.VendorID},
				Categories: []string{[]string{"travel-city", "travel-beach"}[n%2]}, Active: true, Quality: model.QualityOne,
				Price: units(float64(60 + 10*n)), Attributes: []string{"site:" + Site, "travelType:" + kind.kind},
			}
			p.Document = travelDocument(&p, kind.kind)
			a.Products = append(a.Products, p)
			c.Bids = append(c.Bids, model.Bid{Target: p.ID, Amount: cents(0.5 + 0.05*float64(n)), Active: true, Triggers: []model.Trigger{
				{Kind: model.TriggerProduct, Value: p.ID}, {Kind: model.TriggerCategories, Value: p.ID},
			}})
		}
		a.Campaigns = append(a.Campaigns, c)
	}
}

// travelDocument returns the product as the catalog API would have received it.
func travelDocument(p *model.Product, kind string) []byte {
	text, err := json.Marshal(map[string]any{
		"id": p.ID, "name": p.Name, "vendors": p.Vendors, "categories": p.Categories, "price": p.Price / units(1), "active": true,
		"metadata": map[string]string{"site": Site, "travelType": kind},
	})
	if err != nil {
		panic("demo: a product cannot be encoded: " + err.Error())
	}
	return text
}

// setIDs sets the ids of the template and the assets in the creatives, when the store has assigned them.
func (a *Ads) setIDs() {
	for i := range a.Campaigns {
		c := &a.Campaigns[i]
		for k := range c.Bids {
			x := c.Bids[k].Creative
			switch {
			case x == nil:
			case c.Format == model.SponsoredBrand:
				x.TemplateID = a.Template.ID.String()
			default:
				x.Assets[0].AssetID = a.Assets[a.assetOf[c.Name]].ID.String()
			}
		}
	}
}
