// Package market holds what auctions read: products, categories, campaigns and bids of all marketplaces, as one
// immutable view per node behind an atomic pointer.
//
// The replicated machines of all Raft groups feed one Market (see Feed), and Publish makes everything fed so far
// visible at once. Readers load the view once per request and take no lock. The only values that change within a view
// are each campaign's Balances, which the applier of the campaign's group stores and auctions load.
package market

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Market is the single writer of the view. It stores what the Raft groups feed in tables that share almost all of their
// memory with the published view, and publishes the next view.
//
// Texts are interned: every mentioned product, category, vendor and location gets a row number that is valid in this
// process only, and everything else refers to it by that number. So a bid may be fed before its product, and a product
// before its categories; each takes effect as soon as the other arrives. Row numbers differ between nodes and never
// leave the process.
//
// LOCKS: mu guards everything except the atomic pointers. Feeders hold it for one call.
type Market struct {
	view      atomic.Pointer[View]
	clicks    clickRates
	byBid     bidProducts
	learned   learned
	exposures atomic.Pointer[exposureCounts] // Nil before the first exposure.
	// servingNodes is shared by all views.
	servingNodes atomic.Uint32
	lossWeight   atomic.Uint32 // Shared by all views.
	enrolled     enrolled      // Shared by all views.
	seed         uint64
	hash         func(seed uint64, text []byte) uint64

	mu      sync.Mutex
	edition uint64 // Number of the view being built.
	dirty   bool   // Something was fed since the last publication.
	// treeDirty says that a category was added, deleted or moved since the walk was built.
	treeDirty bool

	markets  []*marketEntry // By ordinal.
	traffic  []*traffic     // By ordinal.
	texts    byteArena
	products struct {
		rows[ProductRow]
		table *table
	}
	categories struct {
		rows[categoryRow]
		table *table
	}
	locations struct {
		rows[locationRow]
		byKey map[string]uint32
	}
	walk          []uint32 // Categories in depth-first order.
	campaigns     rows[CampaignRow]
	balances      []*balanceChunk
	byGroup       [][]uint32        // Campaign rows by group and ordinal.
	vendors       map[string]uint32 // By marketplace and id.
	vendorIDs     []Text            // The ids of vendors, by number.
	campaignTerms rows[*CampaignTerms]
	segments      segments
	keywords      keywords
	autobids      autobids
	places        places
	assets        assets
	ads           ads
	brands        rows[uint32] // By product: the row of its brand, 0 for none. It ends at the last product with a brand.
	bids          bidArena
	clickCounts   clickCounts
	purchases     purchases
	usage         usage
	details       wordArena
	predicates    wordArena
	words         []uint32 // Reused to build lists.
	key           []byte   // Reused to build keys and for hashing.
}

// marketEntry is what the view keeps of a marketplace.
type marketEntry struct {
	model.Marketplace
	ownDemand []byte
	floors    []Floor
	traffic   *traffic

	experiment *Experiment // Nil when none runs.
}

// Floor is a reserve rule whose category has been looked up.
type Floor struct {
	model.ReserveRule
	category uint32
}

// New returns an empty market. The seed keys every hash of the tables. It should be secret and random, so that a client
// cannot choose ids that collide in a table. Auction results do not depend on it.
func New(seed uint64) *Market { return newMarket(seed, Hash) }

func newMarket(seed uint64, hash func(uint64, []byte) uint64) *Market {
	m := &Market{seed: seed, hash: hash, edition: 1, vendors: map[string]uint32{}}
	m.products.table = newTable(bucketsMin)
	m.categories.table = newTable(bucketsMin)
	m.locations.byKey = map[string]uint32{}
	m.clickCounts = clickCounts{parts: map[clickPart]learn.Counts{}, markets: map[uint16]*clickSums{}}
	m.purchases.init()
	m.learned.returned = map[returnedOf]Returned{}
	m.learned.delays, m.learned.expected = map[delayOf]learn.Delay{}, map[expectedOf]pacing.Weights{}
	m.campaigns.add() // Row 0 means no campaign.
	m.locations.add() // Row 0 means no location.
	m.campaignTerms.add()
	m.addBalances()
	m.vendorIDs = []Text{{}}
	m.segments.init()
	m.autobids.init()
	m.keywords.init()
	m.places.init()
	m.assets.init()
	m.ads.init()
	m.dirty = true
	m.Publish()
	return m
}

// View returns the view published last, never nil.
func (m *Market) View() *View { return m.view.Load() }

// PutMarketplace adds or replaces the settings of a marketplace.
func (m *Market) PutMarketplace(p *model.Marketplace) {
	m.mu.Lock()
	defer m.mu.Unlock()

	entry := &marketEntry{Marketplace: *p, traffic: m.trafficOf(p.Ordinal)}
	entry.ExternalDemand.Sources = slices.Clone(p.ExternalDemand.Sources)
	entry.ownDemand = []byte(p.ExternalDemand.OwnValue)
	entry.Reserves = slices.Clone(p.Reserves)
	entry.TrafficDates = slices.Clone(p.TrafficDates)
	for _, rule := range p.Reserves {
		floor := Floor{ReserveRule: rule}
		if rule.Category != "" {
			floor.category = m.category(p.Ordinal, rule.Category)
		}
		entry.floors = append(entry.floors, floor)
	}
	entry.experiment = experimentOf(&entry.Marketplace, entry.floors)
	next := slices.Clone(m.markets)
	for len(next) <= int(p.Ordinal) {
		next = append(next, nil)
	}
	next[p.Ordinal] = entry
	m.markets = next
	m.dirty = true
}

// Reset removes what the group fed. Interned texts and balances stay, so that pointers and row numbers remain valid.
func (m *Market) Reset(g ids.Group, meta bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.dirty = true
	m.dropBids(g)
	m.dropCampaigns(g)
	m.dropClickRates(g)
	m.dropPurchases(g)
	m.dropLearned(g, meta)
	if meta {
		m.markets = nil
		m.dropCatalog()
		m.dropSegments()
		m.dropPlaces()
		m.dropAssets()
	}
}

// Publish makes everything fed so far visible to the auctions that start after it returns. It takes microseconds plus
// time in proportion to what changed; without a change it does nothing. When a third of an arena has become waste,
// Publish compacts the arena first. That copies two rows for every row that was wasted, so a bulk load takes linear
// time.
func (m *Market) Publish() {
	m.mu.Lock()
	defer m.mu.Unlock()

	if !m.dirty {
		return
	}
	m.compact()
	if m.treeDirty {
		m.rebuildWalk()
	}
	m.view.Store(m.build())
	m.edition++
	m.dirty = false
}

// build returns the view of the current edition. The caller then begins a new edition.
func (m *Market) build() *View {
	m.bids.publishedBlocks = m.bids.end()
	return &View{
		edition:       m.edition,
		seed:          m.seed,
		hash:          m.hash,
		markets:       m.markets,
		texts:         m.texts.chunks,
		products:      m.products.freeze(),
		productTable:  m.products.table,
		categories:    m.categories.freeze(),
		categoryTable: m.categories.table,
		locations:     m.locations.freeze(),
		walk:          m.walk,
		campaigns:     m.campaigns.freeze(),
		balances:      m.balances,
		servingNodes:  &m.servingNodes,
		lossWeight:    &m.lossWeight,
		enrolled:      &m.enrolled,
		bids:          m.bids.chunks,
		bidProducts:   &m.byBid,
		clicks:        &m.clicks,
		terms:         m.campaignTerms.freeze(),
		vendorIDs:     m.vendorIDs,
		segments:      m.segments.freeze(),
		keywords:      m.keywords.freeze(),
		words:         m.keywords.words.freeze(),
		wordTable:     m.keywords.wordTable,
		untriggered:   m.keywords.untriggered,
		places:        m.places.byKey,
		assets:        m.assets.freeze(),
		ads:           m.ads.freeze(),
		brands:        m.brands.freeze(),
		details:       m.details.chunks,
		predicates:    m.predicates.chunks,
	}
}

// seedOf derives the seed for the texts of one marketplace.
func seedOf(seed uint64, marketplace uint16) uint64 { return Mix(seed, uint64(marketplace)) }

var _ Feed = (*Market)(nil)
