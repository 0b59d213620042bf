// Package shard is the replicated state machine of one Raft group: it applies commands and produces state and answers.
//
// The same commands give byte-identical state and the same digest on every replica, whatever batches they came in,
// because nothing here reads a clock, a random source, the order of a map or anything else that is not in the command
// or in the state. Machine applies commands, Queries reads the stored state, and Feed receives what auctions need.
// DESIGN.md gives the structure, the reasons and the rejected alternatives.
package shard

import (
	"math"
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Reader is the durable state of one group.
type Reader = interface {
	// Get returns the value of a key. OWNERSHIP: the value is valid until the next call.
	Get(key []byte) (value []byte, found bool)
	// Scan calls fn for every key in [from, to), ascending, until fn returns false. OWNERSHIP: key and value are valid
	// until fn returns.
	Scan(from, to []byte, fn func(key, value []byte) bool)
}

// Batch collects the changes of several commands. Its reads return the state before all of these changes. Its changes
// take effect in the order in which they were made. OWNERSHIP: arguments are copied before a call returns.
type Batch = interface {
	Reader
	Set(key, value []byte)
	Delete(key []byte)
	DeleteRange(from, to []byte)
}

// Feed receives what the node needs from the replicated state: what auctions read (market.Feed) and, from the meta
// group only, records and secrets. Reset of the meta group also discards records and secrets.
type Feed interface {
	market.Feed
	// PutRecord reports a record that was written or, with a nil value, deleted.
	PutRecord(kind command.RecordKind, marketplace uint16, id string, value []byte)
	// PutPeriods reports the current budget periods of a marketplace, when those of the campaigns of a group have begun.
	PutPeriods(g ids.Group, p *command.Periods)
	// PutCounted reports that the holds of a group contain everything that a node served up to one of its reports.
	PutCounted(g ids.Group, r *command.CountedReport)
	// PutSecrets reports the cluster's keys.
	PutSecrets(s *command.Secrets)
}

// BidsMax is the largest number of bids of one campaign that are not deleted.
const BidsMax = 5_000

// Machine applies the commands of one raft group.
//
// Its state is the key/value pairs it writes (keys.go). Memory holds only the part that Apply reads for nearly every
// command: campaigns with budgets, wallets, the dedup keys of the last hours, and the counters that the batch changes.
// Bids and the catalog stay in the durable state and, through the Feed, in the view that auctions read.
//
// INVARIANT: state and digest after n commands depend on those commands alone: not on how they were batched, nor on
// restarts and snapshots between them. Two rules ensure this. First, a record that several commands of a batch change
// is read as the batch has left it so far, although the Batch returns the state before it: hot records (those kept in
// memory) are read from memory, all others (cold records) from overlay. Second, a record's new hash replaces its old
// hash in the digest, so that the digest does not depend on how often the record was written.
//
// INVARIANT: a refused command changes nothing but the state clock and the memory of attempts.
//
// The calls for one batch are Apply (any number of times), Flush, then the commit by the caller, then Committed. EndBatch
// comes before Flush and says when Flush may wait: what follows until then is the same batch to the machine. The calls come
// one at a time; only Digest may be called beside them.
type Machine struct {
	group ids.Group
	meta  bool // The group carries marketplaces, records and the catalog.
	feed  Feed

	b               Batch // The current batch.
	state           state
	stateHash       uint64 // Hash of the stored form of state.
	digest          uint64 // Digest of everything this batch has stored so far, without the hot records that Flush will write.
	publishedDigest atomic.Uint64
	overdelivered   atomic.Int64 // Sum over the campaigns, in all periods.
	written         bool         // The batch changed something.
	changed         bool         // The feed received something that is not yet published to auctions.
	managed         bool         // The batch contains a command that is not Events.
	repeated        bool         // The command is a repeat, such as that of a creation, and made no change.

	overlay  map[string][]byte // Cold records written by the batch; nil means deleted.
	counts   map[countKey]int  // Number of records by kind, marketplace and class.
	expiring expiring          // The records among them that expire.
	staged   map[string]upload // Segment uploads by the prefix of their keys.

	marketplaces  map[uint16]*tenant
	campaigns     []*campaign // The campaign with ordinal n is at index n-1.
	byID          map[ids.UUID]*campaign
	wallets       map[ids.UUID]*wallet
	accountCounts map[accountHolder]int // Number of accounts by holder, default wallets not counted.
	adjusts       adjusts
	attempts      attempts
	dedup         dedup
	repeats       repeats
	cells         cells
	days          days
	touchCounts   touchCounts
	openCredits   int // Number of purchases that are to be credited.
	unknown       map[unknownDay]unknowns
	hotBytesMax   int // hotBytesMax; tests set a smaller one.
	unknownMax    int // UnknownProductsMax; tests set a smaller one.
	clickAdsMax   int // ClickAdsMax; tests set a smaller one.
	// purchaseAdsMax is PurchaseAdsMax; tests set a smaller one.
	purchaseAdsMax int
	touchesMax     int // TouchesMax; tests set a smaller one.
	enrolmentsMax  int // EnrolmentsMax; tests set a smaller one.
	// participantsMax is ParticipantsMax; tests set a smaller one.
	participantsMax int
	eventsMax       int // EventsMax; tests set a smaller one.
	linksMax        int // LinksMax; tests set a smaller one.
	touchesPurged   int // touchesPurged; tests set a smaller one.

	dynamic         map[segmentID]*dynamicSegment
	dynamicUsersMax uint32 // dynamicUsersMax; tests set a smaller one.
	marks           int    // Number of users who are marked for evaluation.
	marksMax        int    // UserMarksMax; tests set a smaller one.

	paced paced

	clicks        clickRates
	dirtyDelays   []uint16 // Marketplaces.
	purchases     purchases
	dirtyReturned []*campaign

	dirtyCampaigns []*campaign
	dirtyWallets   []*wallet
	dirtyHolds     []*wallet

	events  command.Events // Reused by applyEvents.
	results []command.EventResult
	key     []byte // Reused to build keys.
	value   []byte // Reused to build values.
	hash    []byte // Reused to build the input of the hash.
}

// state is the small record that nearly every command changes.
type state struct {
	now          int64 // The state clock in Unix milliseconds. INVARIANT: it never goes back.
	lastCampaign uint32
	lastBid      uint32
	lastVersion  uint64        // The newest version of a record.
	lastLine     uint64        // The number of the last journal line.
	chain        ledger.Chain  // The hash chain after the last journal line.
	level        command.Level // INVARIANT: it never goes back.
	turn         uint64        // The number of turns so far (type attempts). INVARIANT: it never goes back.
}

// tenant is what the machine keeps in memory of a marketplace.
type tenant struct {
	postPaid     bool
	closed       bool
	carriesOver  bool
	touchDays    uint32            // For how many UTC days, the current one included, touches are kept; 0 before settings are known.
	touchesFrom  uint32            // The first day that may have touches.
	clickRules   *model.ClickRules // Nil when the marketplace has none.
	eventDays    uint32            // For how many UTC days, the current one included, events are kept; 0: not at all.
	experiment   *experiment       // Nil when the marketplace never had one.
	watched      uint8             // The kinds of actions that mark their users, one bit for each.
	periods      command.Periods
	periodsKnown bool // An Advance has set periods.
	noticeBytes  int  // Bytes of its stored notices.
	delay        learn.Delay
	delayHash    uint64 // Hash of the stored delay; 0 when there is none.
	delayDirty   bool
}

// campaign is a campaign with its money.
type campaign struct {
	model.Campaign
	firstBid uint32
	bids     uint32 // Number of bids that are not deleted.
	budget   ledger.Budget
	wallet   *wallet
	balances *market.Balances
	pace     pace
	returned returned
	hash     uint64 // Hash of the stored budget record.
	dirty    bool
}

// wallet is a wallet and the campaigns that it pays for.
type wallet struct {
	ledger.Wallet
	campaigns []*campaign
	hash      uint64 // Hash of the stored wallet record.
	dirty     bool
	published bool    // Auctions read the balance as it is.
	hold      holdSum // Of its campaigns.
	holdDirty bool
}

// New returns the machine of a group. meta says whether the group carries the marketplaces, records and the catalog;
// group 0 carries nothing else. REQUIRES: Load is called before the first Apply.
func New(group ids.Group, meta bool, feed Feed) *Machine {
	m := &Machine{
		group: group, meta: meta, feed: feed,
		hotBytesMax: hotBytesMax, unknownMax: UnknownProductsMax, clickAdsMax: ClickAdsMax, purchaseAdsMax: PurchaseAdsMax, touchesMax: TouchesMax, enrolmentsMax: EnrolmentsMax, participantsMax: ParticipantsMax, eventsMax: EventsMax, linksMax: LinksMax,
		touchesPurged: touchesPurged, dynamicUsersMax: dynamicUsersMax, marksMax: UserMarksMax,
	}
	m.reset()
	return m
}

// reset discards everything that Load builds.
func (m *Machine) reset() {
	m.b = nil
	m.state, m.stateHash, m.digest = state{}, 0, 0
	m.publishedDigest.Store(0)
	m.overdelivered.Store(0)
	m.written, m.changed, m.managed = false, false, false
	m.overlay = make(map[string][]byte)
	m.counts = make(map[countKey]int)
	m.expiring = expiring{}
	m.staged = make(map[string]upload)
	m.marketplaces = make(map[uint16]*tenant)
	m.campaigns, m.byID = nil, make(map[ids.UUID]*campaign)
	m.wallets, m.accountCounts = make(map[ids.UUID]*wallet), make(map[accountHolder]int)
	m.adjusts = newAdjusts()
	m.attempts = newAttempts()
	m.dedup = newDedup()
	m.repeats = newRepeats()
	m.cells = newCells()
	m.days, m.touchCounts, m.openCredits = newDays(), newTouchCounts(), 0
	m.unknown = make(map[unknownDay]unknowns)
	m.dynamic, m.marks = make(map[segmentID]*dynamicSegment), 0
	m.paced = paced{}
	m.clicks, m.dirtyDelays = newClickRates(), nil
	m.purchases, m.dirtyReturned = newPurchases(), nil
	m.dirtyCampaigns, m.dirtyWallets, m.dirtyHolds = nil, nil, nil
}

// Digest returns the hash of the state after the last Flush: equal for two replicas that applied the same commands. It
// may be called at any time from any goroutine.
func (m *Machine) Digest() uint64 { return m.publishedDigest.Load() }

// Overdelivered returns what clicks and impressions of all campaigns would have cost that budgets and wallets could not
// pay, in micros: the sum of ledger.Budget.OverdeliveredTotal. It may be called at any time from any goroutine.
func (m *Machine) Overdelivered() int64 { return m.overdelivered.Load() }

// addOverdelivered adds to Overdelivered, which saturates.
func (m *Machine) addOverdelivered(amount money.Micros) {
	sum := m.overdelivered.Load()
	m.overdelivered.Store(sum + min(int64(amount), math.MaxInt64-sum))
}

// data reports whether the group carries campaigns, wallets and events.
func (m *Machine) data() bool { return m.group.CarriesCampaigns() }

// tenant returns the memory of a marketplace and creates it on first use.
func (m *Machine) tenant(marketplace uint16) *tenant {
	t := m.marketplaces[marketplace]
	if t == nil {
		t = new(tenant)
		m.marketplaces[marketplace] = t
	}
	return t
}

// campaignOf returns a campaign of a marketplace, or nil.
func (m *Machine) campaignOf(marketplace uint16, id ids.UUID) *campaign {
	c := m.byID[id]
	if c == nil || c.Marketplace != marketplace {
		return nil
	}
	return c
}
