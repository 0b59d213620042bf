package auction

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// awardAd fills a banner or sponsored-brand winner with what it shows.
func (s *Scratch) awardAd(out *Result, w *Winner, c *candidate) {
	ad := s.v.Ad(&market.BidRow{Ad: c.ad})
	w.Type, w.ID, w.IDJSONSafe = ad.Target, ad.ID.Bytes, ad.ID.JSONSafe
	out.shown = append(out.shown, Shown{})
	w.Shown = &out.shown[len(out.shown)-1] // Valid even when append moves the array, because old elements are not written again.
	if s.a.Kind == Banners {
		s.awardAssets(out, w, ad)
		return
	}
	s.awardBrand(out, w, c, ad)
}

// awardAssets lists the assets of a banner that may be shown.
func (s *Scratch) awardAssets(out *Result, w *Winner, ad *market.Ad) {
	from := len(out.assets)
	for i := range ad.Assets {
		if a := &ad.Assets[i]; s.shows(a) {
			out.assets = append(out.assets, Asset{URL: s.v.AssetURL(a), Content: a.Content})
		}
	}
	w.Assets = slices.Clip(out.assets[from:])
}

// awardBrand fills a sponsored-brand winner. An ad without a URL leads to a brand: the target itself, or the brand of
// the target product. For a product without a brand it leads to the product.
func (s *Scratch) awardBrand(out *Result, w *Winner, c *candidate, ad *market.Ad) {
	if ad.Target != model.TargetURL {
		w.Type = model.TargetProduct
	}
	if ad.Product != market.NoProduct {
		if brand := s.v.Brand(ad.Product); len(brand.Bytes) > 0 {
			w.ID, w.IDJSONSafe = brand.Bytes, brand.JSONSafe
		}
	}
	w.Vendor, w.Title, w.Content = s.v.Vendor(c.vendor), ad.Title, ad.Content
	products := ad.Products
	if campaign := s.v.Campaign(c.campaign); len(products) == 0 && campaign.Flags&market.CampaignHasTerms != 0 {
		products = s.v.Terms(c.campaign).Products
	}
	from := len(out.texts)
	for _, row := range products {
		r := s.v.ProductRow(row)
		if r.Flags&(market.ProductKnown|market.ProductActive) == market.ProductKnown {
			continue
		}
		out.texts = append(out.texts, market.Text{Bytes: s.v.Key(r), JSONSafe: r.Flags&market.ProductIDJSONSafe != 0})
	}
	w.Products = slices.Clip(out.texts[from:])
}
