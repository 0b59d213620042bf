package wire

import (
	"slices"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/model"
)

// CheckMarketplace checks the rules on auctions that depend on the marketplace: in H3 mode every location must be an H3
// cell, and the marketplace must accept external demand from each source that the request names. It returns OK, or the
// code of the first violation and fills f. These rules come after all rules of the parser, and among themselves in the
// interface's order: by auction, then by row of the table. REQUIRES: the parser returned OK.
func CheckMarketplace(req *auction.Request, m *model.Marketplace, f *Fault) apierr.Code {
	for i := range req.Auctions {
		a := &req.Auctions[i]
		if m.H3 && len(a.Locations) > 0 {
			if code := checkCells(req, i, f); code != apierr.OK {
				return code
			}
		}
		if a.HasExternal {
			if code := checkDemand(req, i, &m.ExternalDemand, f); code != apierr.OK {
				return code
			}
		}
	}
	return apierr.OK
}

func checkCells(req *auction.Request, i int, f *Fault) apierr.Code {
	for _, l := range req.Auctions[i].Locations {
		text := req.Text(l.Span)
		if _, ok := h3.Parse(text); ok {
			continue
		}
		*f = Fault{
			code: apierr.InvalidLocationCell, byte: -1, at: [4]int32{int32(i)}, // At most AuctionsMax.
			path: "auctions[#].geoTargeting", rule: "must be an H3 cell", value: text,
		}
		return f.code
	}
	return apierr.OK
}

// InMarketplace returns the code of a violation that the parser found, for the marketplace that the request is for. One that
// takes no external demand says so of a request that names a source, before what is wrong with its sources and bids.
func (f *Fault) InMarketplace(m *model.Marketplace) apierr.Code {
	names := f.code == apierr.InvalidDemandSource || f.code == apierr.TooManyExternalBids || f.code == apierr.InvalidExternalBid
	if names && m.ExternalDemand.Disabled {
		*f = noDemand(f.at[0])
	}
	return f.code
}

// noDemand is the violation of an auction that names a source in a marketplace that takes no external demand.
func noDemand(i int32) Fault {
	return Fault{
		code: apierr.UnauthorizedExternalDemand, byte: -1, path: "auctions[#].demandSources", at: [4]int32{i},
		rule: "is not allowed: the marketplace takes no external demand",
	}
}

// checkDemand checks that the marketplace accepts external demand, and that each source is allowed and is not named like
// the marketplace's own demand.
func checkDemand(req *auction.Request, i int, policy *model.ExternalDemand, f *Fault) apierr.Code {
	if policy.Disabled {
		*f = noDemand(int32(i)) // At most AuctionsMax.
		return f.code
	}
	for j, sp := range req.Auctions[i].Sources {
		source := req.Text(sp)
		if string(source) == policy.OwnValue || len(policy.Sources) > 0 && !slices.Contains(policy.Sources, string(source)) {
			*f = Fault{
				code: apierr.InvalidDemandSource, byte: -1, at: [4]int32{int32(i), int32(j)}, // At most AuctionsMax and ExternalBidsMax.
				path: "auctions[#].demandSources[#].source", rule: "must be a source that the marketplace allows", value: source,
			}
			return f.code
		}
	}
	return apierr.OK
}
