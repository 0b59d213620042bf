package auction_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

var rewrite = flag.Bool("rewrite", false, "write what the auctions gave into testdata")

// TestGolden runs the auctions of testdata/*.txt. A line puts something into the market or runs an auction, whose
// result follows after "=". Amounts are in major units, times in milliseconds, and every auction runs at time 100. The
// winners of an auction that is served are added to the node's own totals, which collect collects.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden auctions", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			switch {
			case *rewrite:
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			case !bytes.Equal(got, want):
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

// script is the state of running a golden file.
type script struct {
	*testing.T
	*modelMarket
	m     *market.Market
	names map[string]string // The names of campaigns, by id.
	bid   uint32
	seq   uint64

	spending *market.Spending
}

func newScript(t *testing.T) *script {
	s := &script{T: t, modelMarket: newModelMarket(), m: market.New(1), names: map[string]string{}}
	s.spending = market.NewSpending(s.m)
	s.m.PutMarketplace(&s.settings)
	return s
}

func play(t *testing.T, text string) []byte {
	s := newScript(t)
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "=") {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if words[0] == "auction" {
			s.runAuction(&out, parseOptions(words[1:]))
			continue
		}
		s.put(words)
	}
	return out.Bytes()
}

// options are the name=value words of a line.
type options map[string]string

func parseOptions(words []string) options {
	o := options{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		o[name] = value
	}
	return o
}

func (o options) has(name string) bool { _, ok := o[name]; return ok }

func (o options) list(name string) []string {
	return strings.FieldsFunc(o[name], func(r rune) bool { return r == ',' })
}

func (s *script) amount(text string) money.Micros {
	major, minor, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(major+(minor + "000000")[:6], 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return money.Micros(n)
}

func (s *script) put(words []string) {
	switch words[0] {
	case "marketplace":
		s.putMarketplace(parseOptions(words[1:]))
	case "category":
		s.m.PutCategory(1, &model.Category{ID: words[1], ParentID: parseOptions(words[2:])["parent"]})
	case "product":
		o := parseOptions(words[2:])
		s.m.PutProduct(1, &model.Product{
			ID: words[1], Active: !o.has("inactive"), Quality: s.quality(o["quality"]), Categories: o.list("categories"),
			Attributes: o.list("attributes"), Promotions: o.list("promotions"), Brand: o["brand"],
			Price: s.amount("0" + o["price"]),
		})
		if o.has("clicks") {
			s.countClicks(words[1], uint64(s.number(o["clicks"])))
		}
	case "campaign":
		s.putCampaign(words[1], parseOptions(words[2:]))
	case "nodes":
		s.m.SetServingNodes(uint32(s.number(words[1])))
	case "collect":
		s.spending.Collect()
	case "bid":
		s.putBid(words[1], words[2], s.amount(words[3]), parseOptions(words[4:]))
	default:
		s.putAds(words)
	}
}

func (s *script) putMarketplace(o options) {
	for i, charge := range charges {
		s.settings.Reserve[i+1] = s.amount("0" + o[charge])
	}
	s.settings.H3 = o.has("h3")
	s.settings.VendorMax = uint8(s.number(o["cap"]))
	s.m.PutMarketplace(&s.settings)
}

var charges = []string{"cpc", "cpm", "cpa"}

func (s *script) number(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *script) quality(text string) uint32 {
	if text == "" {
		return model.QualityOne
	}
	return uint32(s.amount(text) * model.QualityOne / money.PerMajor)
}

func (s *script) putCampaign(name string, o options) {
	c := s.campaigns[name]
	if c == nil {
		c = s.campaign(name, o["vendor"], uint32(len(s.campaigns)))
		s.names[c.ID.String()] = name
	}
	c.Active = !o.has("inactive")
	c.Status = max(model.Approved, model.Status(slices.Index([]string{"", "approved", "rejected", "terminated"}, o["status"])))
	if o["status"] == "pending" {
		c.Status = model.Pending
	}
	c.Charge = model.ChargeType(max(1, 1+slices.Index(charges, o["charge"])))
	c.Format = model.AdFormat(max(0, slices.Index(formats, o["format"])))
	s.putTerms(c, o)
	c.Type = o["type"]
	c.TargetROASMilli = uint32(s.amount("0"+o["roas"]) / 1000) // A script's.
	if o["price"] == "first" {
		c.Price = model.FirstPrice
	}
	c.StartMillis, _ = strconv.ParseInt(o["start"], 10, 64)
	c.EndMillis, _ = strconv.ParseInt(o["end"], 10, 64)
	if o.has("left") {
		c.left = s.amount(o["left"])
	}
	if o.has("wallet") {
		c.wallet = s.amount(o["wallet"])
	}
	if o.has("hold") {
		c.hold = s.amount(o["hold"])
	}
	if o.has("wallethold") {
		c.walletHold = s.amount(o["wallethold"])
	}
	c.feed(s.m)
}

// countClicks counts so many clicks of a thousand impressions of a product at the first rank, a million times over, so
// that what was expected of it before hardly matters.
func (s *script) countClicks(product string, clicks uint64) {
	const times = 1_000_000
	cell := market.ClickCell{Marketplace: 1, Format: model.Listing, Level: market.ClickAd, Product: product}
	s.m.PutClickRate(1, &cell, learn.Counts{Impressions: 1_000 * times * learn.One, Clicks: (clicks*times + 100) * learn.One})
}

func (s *script) putBid(name, target string, amount money.Micros, o options) {
	s.bid++
	b := model.Bid{Ordinal: s.bid, Target: target, Amount: amount, Active: !o.has("inactive"), Location: o["location"]}
	b.Triggers = s.triggers(o.list("triggers"))
	s.m.PutBid(&s.campaigns[name].Campaign, &b)
}

func (s *script) runAuction(out *bytes.Buffer, o options) {
	s.m.Publish()
	q := query{
		kind: auction.Listings + auction.Kind(max(0, slices.Index(kinds, o["kind"]))), place: o["place"], site: o["site"],
		variations: o.list("variations"), user: uint64(s.number(o["user"])),
		device: auction.Device(max(0, slices.Index([]string{"", "desktop", "mobile"}, o["device"]))),
		slots:  1, products: o.list("products"), hasSearch: o.has("search"), search: strings.ReplaceAll(o["search"], "_", " "), locations: o.list("locations"),
		or: o.has("or"), attributes: o.list("attributes"), promotions: o.list("promotions"),
	}
	if o.has("slots") {
		q.slots, _ = strconv.Atoi(o["slots"])
	}
	for _, text := range o.list("quality") {
		q.quality = append(q.quality, s.quality(text))
	}
	switch {
	case o.has("category"):
		q.form, q.clauses = auction.OneCategory, [][]string{o.list("category")}
	case o.has("all"):
		q.form = auction.AllCategories
		for _, id := range o.list("all") {
			q.clauses = append(q.clauses, []string{id})
		}
	case o.has("any"):
		q.form = auction.Disjunctions
		for clause := range strings.SplitSeq(o["any"], ";") {
			q.clauses = append(q.clauses, strings.Split(clause, ","))
		}
	}
	for _, text := range o.list("external") {
		x := strings.Split(text, ":")
		q.external = append(q.external, externalBid{source: x[0], product: x[1], amount: s.amount(x[2])})
	}
	v := s.m.View()
	var res auction.Results
	s.seq++
	tick := params(100, s.seq)
	tick.OffsetSeconds, tick.Frequency = int32(s.number(o["offset"])), s.exposures
	auction.Run(v, tick, requestFor(v, 1, q), &res, new(auction.Scratch))
	s.print(out, &res.Results[0])
	if o.has("served") {
		auction.RecordWins(v, &res)
		for _, w := range res.Results[0].Winners {
			fmt.Fprintf(out, "= rank %d is expected to cost %d.%06d\n", w.Rank, w.Expected/money.PerMajor, w.Expected%money.PerMajor)
		}
	}
}

func (s *script) print(out *bytes.Buffer, r *auction.Result) {
	if r.Type == auction.ExternalListingsResult {
		fmt.Fprintln(out, "= external_demand_listings")
	}
	for _, w := range r.Winners {
		fmt.Fprintf(out, "= %d %s", w.Rank, w.ID)
		s.printAd(out, r.Type, &w)
		if w.Campaign != nil {
			fmt.Fprintf(out, " %s pays %d.%06d", s.names[string(w.Campaign[:])], w.Price/money.PerMajor, w.Price%money.PerMajor)
		}
		if w.DemandSource != nil {
			fmt.Fprintf(out, " source %s", w.DemandSource)
		}
		p, ok := ring.Open(1, w.Token[:])
		if !ok || p.Rank != w.Rank || p.Price != w.Price || p.Seq != s.seq || p.External != (w.Campaign == nil) {
			s.Errorf("the token says %+v", p)
		}
		if w.Campaign != nil && p.Shard != s.shardOf(w.Campaign) {
			s.Errorf("shard %d of campaign %s", p.Shard, w.Campaign[:])
		}
		fmt.Fprintln(out)
	}
	if len(r.Winners) == 0 {
		fmt.Fprintln(out, "= nobody wins")
	}
	for reason, n := range r.Lost {
		if n > 0 {
			fmt.Fprintf(out, "= lost %d %s\n", n, auction.Reason(reason))
		}
	}
}

func (s *script) shardOf(text *[ids.TextLen]byte) ids.Shard {
	return ids.ShardOf(s.campaigns[s.names[string(text[:])]].ID)
}
