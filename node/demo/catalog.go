package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Market is a generated marketplace.
type Market struct {
	Categories []model.Category
	Vendors    []model.Vendor
	Products   []model.Product
	Deposits   []Deposit
	Campaigns  []Campaign
	Ads        Ads
}

// Deposit is the opening balance of a vendor.
type Deposit struct {
	VendorID string
	Amount   money.Micros
}

// Campaign is a campaign with its bids.
type Campaign struct {
	model.Campaign
	Bids []model.Bid
}

// department is a root category: its subcategories, the things it sells, the typical price of its products in whole
// currency units, and how much prices vary (standard deviation of the logarithm).
type department struct {
	name          string
	subcategories string
	things        string
	price         float64
	spread        float64
}

var departments = []department{
	{"Electronics", "Headphones,Phones,Laptops,Cameras,Speakers,Wearables", "Headset,Earbuds,Charger,Tablet,Monitor,Tracker", 120, 0.9},
	{"Kitchen", "Cookware,Knives,Coffee,Baking,Storage", "Pan,Kettle,Knife Set,Grinder,Baking Tray,Jar", 35, 0.7},
	{"Garden", "Tools,Seeds,Furniture,Lighting", "Rake,Planter,Hose,Lantern,Bench,Pruner", 45, 0.8},
	{"Toys", "Building Sets,Puzzles,Outdoor Play,Plush", "Brick Box,Puzzle,Kite,Bear,Race Track,Marble Run", 25, 0.6},
	{"Beauty", "Skincare,Hair,Fragrance,Make-up", "Serum,Shampoo,Balm,Perfume,Brush,Mask", 22, 0.6},
	{"Sports", "Running,Cycling,Yoga,Camping,Swimming", "Shoes,Helmet,Mat,Tent,Goggles,Bottle", 55, 0.8},
	{"Fashion", "Shirts,Trousers,Jackets,Bags,Watches", "Shirt,Jeans,Parka,Backpack,Watch,Belt", 48, 0.7},
	{"Grocery", "Tea,Snacks,Breakfast,Pasta,Sauces", "Green Tea,Crackers,Muesli,Penne,Pesto,Honey", 6, 0.5},
	{"Pets", "Dogs,Cats,Aquarium,Birds", "Leash,Scratcher,Filter,Feeder,Bed,Treats", 20, 0.7},
	{"Books", "Novels,Children,Cooking,Travel,Science", "Atlas,Reader,Cookbook,Guide,Primer,Novel", 16, 0.4},
}

var adjectives = strings.Split("Classic,Nordic,Compact,Premium,Everyday,Alpine,Urban,Organic,Silent,Bright,Solid,Light,Vintage,Smart,Pure", ",")

var vendorNames = strings.Split("Acorn,Birch,Cobalt,Dune,Ember,Fjord,Garnet,Harbor,Iris,Juniper,Kestrel,Lumen,Maple,Nimbus,Opal,Pebble,Quartz,Raven,Sable,Tundra", ",")

var vendorKinds = strings.Split("Supply,Trading,Goods,Works,House,Outlet,Studio,Mills,Brothers,Direct", ",")

// Generate returns the market of the options.
func Generate(o Options) *Market {
	o = o.WithDefaults()
	g := generator{o: o, rng: rand.New(rand.NewPCG(o.Seed, 0x6a09e667f3bcc908))} //nolint:gosec // a demo, not a secret.
	g.categories()
	g.vendors()
	g.products()
	g.campaigns()
	g.ads()
	return &g.m
}

// setTimes sets the time when items were created and campaigns start.
func (m *Market) setTimes(nowMillis int64) {
	for i := range m.Categories {
		m.Categories[i].CreatedMillis, m.Categories[i].UpdatedMillis = nowMillis, nowMillis
	}
	for i := range m.Vendors {
		m.Vendors[i].CreatedMillis, m.Vendors[i].UpdatedMillis = nowMillis, nowMillis
	}
	for i := range m.Products {
		m.Products[i].CreatedMillis, m.Products[i].UpdatedMillis = nowMillis, nowMillis
	}
	for i := range m.Campaigns {
		m.Campaigns[i].StartMillis = nowMillis
	}
	for i := range m.Ads.Products {
		m.Ads.Products[i].CreatedMillis, m.Ads.Products[i].UpdatedMillis = nowMillis, nowMillis
	}
	for i := range m.Ads.Campaigns {
		m.Ads.Campaigns[i].StartMillis = nowMillis
	}
}

type generator struct {
	o             Options
	rng           *rand.Rand
	m             Market
	subcategories []subcategory
	byVendor      [][]int // Indexes into m.Products, by vendor.
}

type subcategory struct {
	id string
	d  *department
}

func slug(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "-")) }

func (g *generator) categories() {
	for i := range departments {
		d := &departments[i]
		root := slug(d.name)
		g.m.Categories = append(g.m.Categories, model.Category{ID: root, Name: d.name})
		for name := range strings.SplitSeq(d.subcategories, ",") {
			id := root + "-" + slug(name)
			g.m.Categories = append(g.m.Categories, model.Category{ID: id, ParentID: root, Name: name})
			g.subcategories = append(g.subcategories, subcategory{id: id, d: d})
		}
	}
}

func (g *generator) vendors() {
	for i := range g.o.Vendors {
		name := vendorNames[i%len(vendorNames)] + " " + vendorKinds[i/len(vendorNames)%len(vendorKinds)]
		if round := i / (len(vendorNames) * len(vendorKinds)); round > 0 {
			name = fmt.Sprintf("%s %d", name, round+1)
		}
		g.m.Vendors = append(g.m.Vendors, model.Vendor{ID: fmt.Sprintf("v%d", i+1), Name: name})
		amount := units(200 * math.Exp(g.rng.NormFloat64()))
		g.m.Deposits = append(g.m.Deposits, Deposit{VendorID: g.m.Vendors[i].ID, Amount: max(amount, units(20))})
	}
}

func (g *generator) products() {
	g.byVendor = make([][]int, g.o.Vendors)
	for i := range g.o.Products {
		s := g.subcategories[g.rng.IntN(len(g.subcategories))]
		things := strings.Split(s.d.things, ",")
		vendor := g.rng.IntN(g.o.Vendors)
		g.byVendor[vendor] = append(g.byVendor[vendor], i)
		g.m.Products = append(g.m.Products, model.Product{
			ID:         fmt.Sprintf("p%d", i+1),
			Name:       adjectives[g.rng.IntN(len(adjectives))] + " " + things[g.rng.IntN(len(things))],
			Vendors:    []string{g.m.Vendors[vendor].ID},
			Categories: []string{s.id},
			Active:     g.rng.IntN(50) > 0, // One in fifty is out of the assortment.
			Quality:    model.QualityOne / 100 * uint32(60+g.rng.IntN(41)),
			Price:      cents(s.d.price * math.Exp(s.d.spread*g.rng.NormFloat64())),
		})
	}
}

// campaigns creates campaigns with 10 to 39 products of their vendor, or all if it has fewer. A bid is about 0.6 % of
// the product's price, which is what a click is worth: a margin of a fifth times a purchase rate of 3 %.
func (g *generator) campaigns() {
	for i := range g.o.Campaigns {
		vendor := i % g.o.Vendors
		own := g.byVendor[vendor]
		if len(own) == 0 {
			continue
		}
		c := Campaign{Campaign: model.Campaign{
			VendorID: g.m.Vendors[vendor].ID,
			Name:     fmt.Sprintf("%s spring push %d", g.m.Vendors[vendor].Name, i/g.o.Vendors+1),
			Type:     "manual", Charge: model.CPC, Active: true, AutoTrigger: true, Status: model.Approved,
			Budget: max(units(5), units(math.Round(25*math.Exp(0.8*g.rng.NormFloat64())))), Period: model.Daily,
		}}
		if g.rng.IntN(10) == 0 {
			c.Price = model.FirstPrice
		}
		for _, at := range g.rng.Perm(len(own))[:min(len(own), 10+g.rng.IntN(30))] {
			p := &g.m.Products[own[at]]
			worth := float64(p.Price) / float64(money.PerMajor) * 0.006 * math.Exp(0.5*g.rng.NormFloat64())
			c.Bids = append(c.Bids, model.Bid{
				Target: p.ID, Amount: min(max(cents(worth), cents(0.05)), cents(4)), Active: true,
				Triggers: []model.Trigger{
					{Kind: model.TriggerProduct, Value: p.ID},
					{Kind: model.TriggerCategories, Value: p.ID},
				},
			})
		}
		g.m.Campaigns = append(g.m.Campaigns, c)
	}
}

// units converts a number to money in whole currency units, cents to whole cents, at least one.
func units(n float64) money.Micros { return money.Micros(math.Round(n)) * money.PerMajor }

func cents(n float64) money.Micros {
	return max(1, money.Micros(math.Round(n*100))) * money.PerMinor(2)
}
