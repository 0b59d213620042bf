// Package shard is the replicated state machine of one raft group: commands in, state and answers out.
//
// The same commands give byte-identical state and the same digest on every replica, whatever batches they came in,
// because nothing here reads a clock, a random source, the order of a map or anything else that is not in the command
// or in the state. DESIGN.md says what that costs and what was rejected.
package shard

import (
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
)

// Reader is the durable state of one group.
type Reader = interface {
	// Get returns the value of a key. OWNERSHIP: the value is valid until the next call.
	Get(key []byte) (value []byte, found bool)
	// Scan calls fn for every key in [from, to), ascending, until fn returns false. OWNERSHIP: key and value are valid
	// until fn returns.
	Scan(from, to []byte, fn func(key, value []byte) bool)
}

// Batch collects the changes of a number of commands. What it reads is the state before all of them. Its changes take
// effect in the order in which they were made. OWNERSHIP: arguments are copied before a call returns.
type Batch = interface {
	Reader
	Set(key, value []byte)
	Delete(key []byte)
	DeleteRange(from, to []byte)
}

// Feed receives what the node must know from the replicated state: what auctions read (market.Feed) and, from the meta
// group only, records and secrets. Reset of the meta group also forgets records and secrets.
type Feed interface {
	market.Feed
	// PutRecord tells of a record written or, with a nil value, deleted.
	PutRecord(kind command.RecordKind, marketplace uint16, id string, value []byte)
	PutSecrets(s *command.Secrets)
}

// BidsMax bounds the bids of one campaign that are not deleted.
const BidsMax = 5_000

// Machine applies the commands of one raft group.
//
// Its state is the key/value pairs it writes (keys.go); the memory image beside them holds only what Apply needs at
// once: campaigns with budgets, wallets, the dedup keys of the last hours, counters being counted. Bids and the catalog
// stay in the durable state and, through the Feed, in the auctions' view.
//
// INVARIANT: state and digest after n commands depend on those commands alone: not on how they were batched, nor on
// restarts and snapshots between them. Two things make it so. A record that several commands of a batch change is read
// back through what the batch has written so far, because the Batch shows only the state before it: through memory for
// the hot records, through overlay for the rest. And every record's hash replaces its own earlier hash in the digest, so
// that writing it once or a hundred times ends alike.
//
// INVARIANT: a refused command changes nothing but the state clock and the memory of attempts.
//
// The life of a batch is Apply, Apply, ..., Flush, commit, Committed, all from one goroutine; Digest alone may be called
// from any.
type Machine struct {
	group ids.Group
	meta  bool // Carries marketplaces, records and the catalog.
	feed  Feed

	b         Batch // The batch under way.
	state     state
	stateHash uint64 // Of the stored form of state.
	digest    uint64 // Of everything stored so far by this batch, hot records not yet flushed left out.
	published atomic.Uint64
	written   bool // The batch changed something.
	changed   bool // The feed was told something that auctions must see.

	overlay  map[string][]byte // Cold records written by the batch; nil is deleted.
	counts   map[countKey]int  // Records per kind, marketplace and class.
	expiring expiring          // Those of them that expire.
	staged   map[string]upload // Uploads of segments by the prefix of their keys.

	marketplaces map[uint16]*tenant
	campaigns    []*campaign // By ordinal, from 1 at index 0.
	byID         map[ids.UUID]*campaign
	wallets      map[ids.UUID]*wallet
	opened       map[owner]int // Accounts beyond the default wallets.
	adjusts      adjusts
	attempts     attempts
	dedup        dedup
	cells        cells
	unknown      map[unknownDay]unknowns
	unknownMax   int // UnknownProductsMax; only tests have a smaller one.

	dirtyCampaigns []*campaign
	dirtyWallets   []*wallet

	events  command.Events // Reused by applyEvents.
	results []command.EventResult
	key     []byte // Scratch for keys.
	value   []byte // Scratch for values.
	hash    []byte // Scratch for hashing.
}

// state is the small record that nearly every command changes.
type state struct {
	now          int64 // The state clock. INVARIANT: it never goes back.
	lastCampaign uint32
	lastBid      uint32
	lastVersion  uint64 // Of records.
	lastLine     uint64 // Of the journal.
	chain        ledger.Chain
	level        command.Level // INVARIANT: it never goes back.
	turn         uint64        // See attempts. INVARIANT: it never goes back.
}

// tenant is a marketplace as the machine sees it.
type tenant struct {
	postPaid bool
	periods  command.Periods
	clocked  bool // Periods arrived here.
	// learned is how often ads of each format are clicked. No part of the state: see rate.
	learned [market.SponsoredBrand + 1]rate
}

// campaign is a campaign with its money.
type campaign struct {
	market.Campaign
	firstBid uint32
	bids     uint32 // Not deleted.
	budget   ledger.Budget
	wallet   *wallet
	slot     *market.Slot
	learned  rate   // How often its ads are clicked.
	hash     uint64 // Of the stored budget.
	dirty    bool
}

// wallet is a wallet and the campaigns that spend it.
type wallet struct {
	ledger.Wallet
	campaigns []*campaign
	hash      uint64
	dirty     bool
}

// New returns the machine of a group; meta says whether it carries the marketplaces, records and the catalog. A group 0
// carries nothing else. Load must be called before the first Apply.
func New(group ids.Group, meta bool, feed Feed) *Machine {
	m := &Machine{group: group, meta: meta, feed: feed, unknownMax: UnknownProductsMax}
	m.forget()
	return m
}

func (m *Machine) forget() {
	m.b = nil
	m.state, m.stateHash, m.digest = state{}, 0, 0
	m.published.Store(0)
	m.written, m.changed = false, false
	m.overlay = make(map[string][]byte)
	m.counts = make(map[countKey]int)
	m.expiring = expiring{}
	m.staged = make(map[string]upload)
	m.marketplaces = make(map[uint16]*tenant)
	m.campaigns, m.byID = nil, make(map[ids.UUID]*campaign)
	m.wallets, m.opened = make(map[ids.UUID]*wallet), make(map[owner]int)
	m.adjusts = newAdjusts()
	m.attempts = newAttempts()
	m.dedup = newDedup()
	m.cells = newCells()
	m.unknown = make(map[unknownDay]unknowns)
	m.dirtyCampaigns, m.dirtyWallets = nil, nil
}

// Digest returns the hash of the state after the last Flush: equal for two replicas that applied the same commands. It
// may be called at any time from any goroutine.
func (m *Machine) Digest() uint64 { return m.published.Load() }

// data reports whether the group carries campaigns, wallets and events.
func (m *Machine) data() bool { return m.group != 0 }

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
