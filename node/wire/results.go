package wire

import (
	"strconv"

	"github.com/gavel-ads/gavel/shard/auction"
)

var resultTypes = [...]string{
	auction.ListingsResult:         `{"resultType":"listings","winners":[`,
	auction.BannersResult:          `{"resultType":"banners","winners":[`,
	auction.ExternalListingsResult: `{"resultType":"external_demand_listings","winners":[`,
}

// AppendResults appends the body of a 201: one result per auction in request order, winners by rank. ownDemand is the
// demandSource of own winners where the request named demand sources. It allocates only if dst has no room.
// OWNERSHIP: winners alias the texts of the request, which is named here so that it cannot be released before.
// REQUIRES: ids are valid UTF-8 and metadata is JSON, as the parsers of this package leave them.
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
	if r.Failed {
		return append(dst, `],"error":true}`...)
	}
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
	dst = append(dst, `,"type":"product","id":"`...)
	if w.IDClean {
		dst = append(dst, w.ID...)
	} else {
		dst = appendEscaped(dst, w.ID)
	}
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
	if len(w.Metadata) > 0 {
		dst = append(dst, `,"metadata":`...)
		dst = append(dst, w.Metadata...)
	}
	return append(dst, '}')
}

const hexDigits = "0123456789abcdef"

// appendEscaped appends the text of a JSON string. Only what JSON demands is escaped.
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
