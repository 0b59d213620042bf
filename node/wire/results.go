package wire

import (
	"strconv"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

var resultTypes = [...]string{
	auction.ListingsResult:         `{"resultType":"listings","winners":[`,
	auction.BannersResult:          `{"resultType":"banners","winners":[`,
	auction.ExternalListingsResult: `{"resultType":"external_demand_listings","winners":[`,
	auction.BrandResult:            `{"resultType":"brand","winners":[`,
	auction.HotelsResult:           `{"resultType":"hotels","winners":[`,
	auction.FlightsResult:          `{"resultType":"flights","winners":[`,
}

// AppendResults appends the body of a 201: one result per auction in request order, with the winners by rank. ownDemand is
// the demandSource of the marketplace's own winners where the request named demand sources. It allocates only if dst must
// grow. OWNERSHIP: winners alias the texts of the request, which is a parameter so that the caller cannot have released it.
// REQUIRES: ids are valid UTF-8 and metadata is JSON, as the parsers of this package return them.
func AppendResults(dst []byte, _ *auction.Request, res *auction.Results, ownDemand []byte) []byte {
	dst = append(dst, `{"results":[`...)
	for i := range res.Results {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendResult(dst, &res.Results[i], ownDemand)
	}
	return append(dst, `]}`...)
}

func appendResult(dst []byte, r *auction.Result, ownDemand []byte) []byte {
	dst = append(dst, resultTypes[r.Type]...)
	for i := range r.Winners {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendWinner(dst, &r.Winners[i], r.Type, ownDemand)
	}
	return append(dst, `],"error":false}`...)
}

func appendWinner(dst []byte, w *auction.Winner, result auction.ResultType, ownDemand []byte) []byte {
	dst = append(dst, `{"rank":`...)
	dst = strconv.AppendUint(dst, uint64(w.Rank), 10)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, w.Type.String()...)
	dst = append(dst, `","id":"`...)
	dst = appendText(dst, market.Text{Bytes: w.ID, JSONSafe: w.IDJSONSafe})
	dst = append(dst, `","resolvedBidId":"`...)
	dst = append(dst, w.Token[:]...)
	if w.Campaign != nil {
		dst = append(dst, `","campaignId":"`...)
		dst = append(dst, w.Campaign[:]...)
	}
	if result == auction.ExternalListingsResult {
		dst = append(dst, `","demandSource":"`...)
		if w.Campaign != nil {
			dst = appendEscaped(dst, ownDemand)
		} else {
			dst = appendEscaped(dst, w.DemandSource)
		}
	}
	dst = append(dst, '"')
	switch {
	case len(w.Metadata) > 0:
		dst = append(append(dst, `,"metadata":`...), w.Metadata...)
	case result == auction.BannersResult:
		dst = appendAssets(dst, w.Assets)
	case result == auction.BrandResult:
		dst = appendBrand(dst, w)
	case result == auction.FlightsResult && len(w.Variation) > 0:
		dst = append(dst, `,"variationID":"`...)
		dst = append(appendEscaped(dst, w.Variation), '"')
	}
	return append(dst, '}')
}

// appendAssets appends the assets of a banner winner.
func appendAssets(dst []byte, assets []auction.Asset) []byte {
	dst = append(dst, `,"asset":[`...)
	for i := range assets {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"url":"`...)
		dst = append(appendText(dst, assets[i].URL), '"')
		if content := assets[i].Content; len(content) > 0 {
			dst = append(append(dst, `,"content":`...), content...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendBrand appends the members that only a sponsored-brand winner has. Its content is always an object.
func appendBrand(dst []byte, w *auction.Winner) []byte {
	dst = append(dst, `,"vendorId":"`...)
	dst = appendText(dst, w.Vendor)
	dst = append(dst, `","productIds":[`...)
	for i := range w.Products {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(appendText(dst, w.Products[i]), '"')
	}
	dst = append(dst, ']')
	if len(w.Title.Bytes) > 0 {
		dst = append(dst, `,"title":"`...)
		dst = append(appendText(dst, w.Title), '"')
	}
	if len(w.Content) == 0 {
		return append(dst, `,"content":{}`...)
	}
	return append(append(dst, `,"content":`...), w.Content...)
}

// appendText appends a text as the inside of a JSON string, without quotes. A clean text needs no escapes.
func appendText(dst []byte, t market.Text) []byte {
	if t.JSONSafe {
		return append(dst, t.Bytes...)
	}
	return appendEscaped(dst, t.Bytes)
}

const hexDigits = "0123456789abcdef"

// appendEscaped appends a text as the inside of a JSON string. It escapes only the characters that JSON requires.
func appendEscaped(dst, text []byte) []byte {
	start := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, text[start:]...)
}
