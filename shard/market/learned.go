package market

import (
	"sync"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// learned is what the groups have learned and the controller of package pacing reads, once a second for each campaign.
// Auctions do not read it.
//
// LOCKS: mu guards everything; no other lock is taken under it.
type learned struct {
	mu       sync.RWMutex
	delays   map[delayOf]learn.Delay
	expected map[expectedOf]pacing.Weights
	returned map[returnedOf]Returned
}

type returnedOf struct {
	group    ids.Group
	campaign uint32
}

// Returned is what a campaign with a target return has paid and sold, in sums that only grow, from the moment at which it
// had a target first.
type Returned struct {
	Clicks, Purchases uint64       // Clicks that were charged, and items that were credited.
	Spend, Value      money.Micros // Charged for the clicks, and credited. Not negative.
}

type delayOf struct {
	group       ids.Group
	marketplace uint16
}

type expectedOf struct {
	marketplace uint16
	format      model.AdFormat
}

// PutClickDelay replaces what a group has learned of the delay of a marketplace's clicks.
func (m *Market) PutClickDelay(g ids.Group, marketplace uint16, d learn.Delay) {
	m.learned.mu.Lock()
	defer m.learned.mu.Unlock()
	m.learned.delays[delayOf{g, marketplace}] = d
}

// ClickDelay returns what a group has learned of the delay of a marketplace's clicks; the delay before the first click
// when it has learned nothing. It may be called at any time from any goroutine.
func (m *Market) ClickDelay(g ids.Group, marketplace uint16) learn.Delay {
	m.learned.mu.RLock()
	defer m.learned.mu.RUnlock()
	return m.learned.delays[delayOf{g, marketplace}]
}

// PutReturned replaces what a campaign of a group has paid and sold.
func (m *Market) PutReturned(g ids.Group, campaign uint32, r Returned) {
	m.learned.mu.Lock()
	defer m.learned.mu.Unlock()
	m.learned.returned[returnedOf{g, campaign}] = r
}

// Returned returns what a campaign of a group has paid and sold; zero when it never had a target return. It may be called
// at any time from any goroutine.
func (m *Market) Returned(g ids.Group, campaign uint32) Returned {
	m.learned.mu.RLock()
	defer m.learned.mu.RUnlock()
	return m.learned.returned[returnedOf{g, campaign}]
}

// PutTraffic replaces the expected traffic of a marketplace's ads of a format.
func (m *Market) PutTraffic(marketplace uint16, format model.AdFormat, w *pacing.Weights) {
	m.learned.mu.Lock()
	defer m.learned.mu.Unlock()
	m.learned.expected[expectedOf{marketplace, format}] = *w
}

// ExpectedTraffic returns the expected traffic of a marketplace's ads of a format: uniform when nothing was learned yet. The
// operator's factors of single dates are not part of it (Marketplace.TrafficDates). It may be called at any time from any
// goroutine.
func (m *Market) ExpectedTraffic(marketplace uint16, format model.AdFormat) pacing.Weights {
	m.learned.mu.RLock()
	defer m.learned.mu.RUnlock()
	if w, known := m.learned.expected[expectedOf{marketplace, format}]; known {
		return w
	}
	return pacing.UniformWeights()
}

// dropLearned removes what a group has published. The meta group publishes the traffic.
func (m *Market) dropLearned(g ids.Group, meta bool) {
	m.learned.mu.Lock()
	defer m.learned.mu.Unlock()
	for of := range m.learned.delays { // order: every element is removed for itself.
		if of.group == g {
			delete(m.learned.delays, of)
		}
	}
	for of := range m.learned.returned { // order: every element is removed for itself.
		if of.group == g {
			delete(m.learned.returned, of)
		}
	}
	if meta {
		clear(m.learned.expected)
	}
}
