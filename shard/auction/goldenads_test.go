package auction_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/keyword"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// This file runs the lines of golden files for banners, sponsored brands and targeting. In a value, _ means a blank.

var (
	formats  = []string{"listing", "banner", "brand"}
	kinds    = []string{"listings", "banners", "brand", "hotels", "flights"}
	targets  = []string{"product", "vendor", "brand", "url"}
	triggers = []string{"product", "category", "categories", "exact", "phrase", "broad", "notexact", "notbroad"}
	days     = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
)

func (s *script) putAds(words []string) {
	switch o := parseOptions(words[1:]); words[0] {
	case "slot":
		x := model.MediaSlot{ID: words[1], Active: !o.has("inactive")}
		x.Dimensions[auction.Desktop], x.Dimensions[auction.Mobile] = s.dimensions(o["desktop"]), s.dimensions(o["mobile"])
		s.m.PutMediaSlot(1, &x)
	case "placement":
		s.m.PutPlacement(1, &model.Placement{ID: o["uuid"], ExternalID: words[1], Active: !o.has("inactive")})
	case "asset":
		s.m.PutAsset(1, &model.Asset{ID: words[1], URL: "https://asset/" + words[1], Approved: !o.has("pending")})
	case "segment":
		var users []uint64
		for _, user := range words[2:] {
			users = append(users, uint64(s.number(user)))
		}
		s.m.PutSegment(1, words[1], users)
	case "reserve":
		s.settings.Reserves = append(s.settings.Reserves, model.ReserveRule{
			Charge: model.ChargeType(1 + slices.Index(charges, words[1])), Amount: s.amount(words[2]), AnyFormat: !o.has("format"),
			Format: model.AdFormat(max(0, slices.Index(formats, o["format"]))), Place: o["place"], Category: o["category"],
		})
		s.m.PutMarketplace(&s.settings)
	case "gate":
		pass, multiplier := s.amount(o["pass"])*pacing.Always/money.PerMajor, s.amount(o["multiplier"])*pacing.Unshaded/money.PerMajor
		s.campaigns[words[1]].slot.Pacing.Store(uint64(pass)<<32 | uint64(multiplier))
	case "met":
		c, b := s.campaigns[o["campaign"]], model.Bid{Ordinal: uint32(s.number(o["bid"]))}
		s.exposures[frequencyQuery(uint64(s.number(o["user"])), c, &b, model.Cap{Type: uint8(s.number(o["cap"]))}, 100)] = uint32(s.number(o["times"]))
	case "banner", "brand":
		s.putAd(words[1], words[2], s.amount(words[3]), parseOptions(words[4:]))
	default:
		s.Fatalf("what is %q?", words[0])
	}
}

func (s *script) putAd(name, target string, amount money.Micros, o options) {
	s.bid++
	c := &model.Creative{
		Place: o["place"], Device: auction.Device(max(0, slices.Index([]string{"", "desktop", "mobile"}, o["device"]))),
		Title: o["title"], Content: []byte(o["content"]), Products: o.list("products"),
	}
	for _, text := range o.list("assets") { // url@WxH or url@record, and content after =
		text, content, _ := strings.Cut(text, "=")
		url, rest, _ := strings.Cut(text, "@")
		a := model.BannerAsset{URL: url, AssetID: rest, Content: []byte(content)}
		if strings.Contains(rest, "x") {
			a.AssetID, a.Dimensions = "", s.dimensions(rest)
		}
		c.Assets = append(c.Assets, a)
	}
	s.m.PutBid(&s.campaigns[name].Campaign, &model.Bid{
		Ordinal: s.bid, Target: target, TargetType: model.TargetType(max(0, slices.Index(targets, o["target"]))), Amount: amount,
		Active: true, Triggers: s.triggers(o.list("triggers")), Creative: c,
	})
}

func (s *script) dimensions(text string) (d model.Dimensions) {
	if text != "" {
		if _, err := fmt.Sscanf(text, "%dx%d", &d.Width, &d.Height); err != nil {
			s.Fatal(text, err)
		}
	}
	return d
}

func (s *script) triggers(list []string) (all []model.Trigger) {
	for _, text := range list {
		kind, value, _ := strings.Cut(text, ":")
		t := model.Trigger{Kind: model.TriggerKind(slices.Index(triggers, kind)), Value: value}
		if t.Kind.IsKeyword() {
			t.Value = keyword.Text(strings.Split(value, "_"))
		}
		all = append(all, t)
	}
	return all
}

func (s *script) putTerms(c *campaign, o options) {
	c.Products = o.list("products")
	c.Segments.Include, c.Segments.Exclude = o.list("include"), o.list("exclude")
	for _, text := range o.list("multipliers") {
		segment, factor, _ := strings.Cut(text, ":")
		c.Segments.Multipliers = append(c.Segments.Multipliers, model.SegmentMultiplier{Segment: segment, Multiplier: uint32(s.amount(factor))})
	}
	if o.has("schedule") { // Day, hour and value; all other hours have the value ScheduleOne.
		c.Schedule = slices.Repeat([]uint16{model.ScheduleOne}, model.ScheduleHours)
		when, value, _ := strings.Cut(o["schedule"], ":")
		c.Schedule[slices.Index(days, when[:3])*24+int(s.number(when[3:]))] = uint16(s.number(value))
	}
	for _, text := range o.list("caps") {
		kind, limit, _ := strings.Cut(text, ":")
		c.Caps = append(c.Caps, model.Cap{Type: uint8(s.number(kind)), Limit: uint32(s.number(limit))})
	}
}

// printAd prints the members of a winner that only banners and sponsored brands have.
func (s *script) printAd(out *bytes.Buffer, kind auction.ResultType, w *auction.Winner) {
	switch kind {
	case auction.FlightsResult:
		fmt.Fprintf(out, " %s", w.Variation)
	case auction.BannersResult:
		fmt.Fprintf(out, " (%s)", w.Type)
		for _, a := range w.Assets {
			fmt.Fprintf(out, " %s%s", a.URL.Bytes, a.Content)
		}
	case auction.BrandResult:
		fmt.Fprintf(out, " (%s) of %s", w.Type, w.Vendor.Bytes)
		if len(w.Title.Bytes) > 0 {
			fmt.Fprintf(out, " %q %s", w.Title.Bytes, w.Content)
		}
		for _, p := range w.Products {
			fmt.Fprintf(out, " +%s", p.Bytes)
		}
	default:
	}
}
