package market

import (
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/model"
)

// TrafficStripes is the number of copies of the counters of auctions. BOUND: workers beyond it share a copy, which
// costs contended adds; more copies cost memory for every marketplace.
const TrafficStripes = 16

// traffic counts the auctions of a marketplace since the node started. Every worker adds to a copy of its own, so that
// an add does not wait for another core's cache line.
type traffic [TrafficStripes]struct {
	auctions [model.SponsoredBrand + 1]atomic.Uint64
	_        [64 - 8*(model.SponsoredBrand+1)]byte // The rest of a cache line.
}

// Traffic is the number of auctions of one marketplace and ad format that a node has run since it started.
type Traffic struct {
	Marketplace uint16
	Format      model.AdFormat
	Auctions    uint64
}

// CountAuctions adds n auctions of a marketplace and format. stripe is the number of the calling worker; workers with
// different numbers modulo TrafficStripes do not wait for each other. REQUIRES: the marketplace exists.
func (v *View) CountAuctions(marketplace uint16, f model.AdFormat, stripe uint32, n uint64) {
	v.markets[marketplace].traffic[stripe%TrafficStripes].auctions[f].Add(n)
}

// AppendTraffic appends the counts that are not 0, by marketplace and format.
func (m *Market) AppendTraffic(dst []Traffic) []Traffic {
	m.mu.Lock()
	defer m.mu.Unlock()

	for ordinal, t := range m.traffic {
		if t == nil {
			continue
		}
		for f := range model.SponsoredBrand + 1 {
			var n uint64
			for stripe := range t {
				n += t[stripe].auctions[f].Load()
			}
			if n > 0 {
				dst = append(dst, Traffic{Marketplace: uint16(ordinal), Format: f, Auctions: n}) // An ordinal.
			}
		}
	}
	return dst
}

// trafficOf returns the counters of a marketplace. They outlive its settings, because totals never go back.
func (m *Market) trafficOf(marketplace uint16) *traffic {
	for len(m.traffic) <= int(marketplace) {
		m.traffic = append(m.traffic, nil)
	}
	if m.traffic[marketplace] == nil {
		m.traffic[marketplace] = new(traffic)
	}
	return m.traffic[marketplace]
}
