package shard

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Errors of Load.
var (
	// ErrCorrupt means that the durable state is not what was written. The node's state must be rebuilt from its peers.
	ErrCorrupt = errors.New("shard: state is corrupt")
	// ErrFormat means that a newer binary wrote the state.
	ErrFormat error = newerError("shard: a newer version of gavel wrote the state in a format that this one does not know")
	// ErrLevel means that the cluster has reached a feature level that this binary does not know.
	ErrLevel error = newerError("shard: the cluster has reached a feature level that this version of gavel does not know")
)

// newerError is an error about a state that is intact but was written by a newer binary. The state must be kept:
// rebuilding it from the log, as for a corrupt state, would apply the same newer commands again.
type newerError string

func (e newerError) Error() string { return string(e) }

// NewerState marks the error for package raftstore, which does not import this package.
func (newerError) NewerState() bool { return true }

// Load builds the machine's memory from the durable state and feeds the auctions. It reads every record once and
// compares the digest of all records with the stored digest, so that a lost, changed or added record is found before it
// affects a decision. It may be called again between batches, for example after the installation of a snapshot.
//
// The error wraps ErrCorrupt, ErrFormat or ErrLevel. After an error the machine must not be used.
func (m *Machine) Load(r Reader) error {
	m.reset()
	m.feed.Reset(m.group, m.meta)
	l := loader{m: m, budgets: make(map[uint32]loadedBudget), dynamic: make(map[uint64]*dynamicSegment)}
	digest, err := m.loadHeader(r)
	if err != nil {
		return err
	}
	r.Scan([]byte{tableHeader + 1}, []byte{tableEnd}, l.scanRecord)
	if l.refused != nil {
		return l.refused
	}
	if l.err == nil {
		l.err = l.finishSegment()
	}
	if l.err == nil {
		l.err = l.finishDynamic()
	}
	if l.err != nil {
		return l.err
	}
	if l.digest != digest {
		return fmt.Errorf("%w: digest is %016x, stored %016x", ErrCorrupt, l.digest, digest)
	}
	m.publishHolds()
	m.digest = digest
	m.publishedDigest.Store(digest)
	m.changed = false
	m.feed.Publish()
	return nil
}

func (m *Machine) loadHeader(r Reader) (digest uint64, err error) {
	header, found := r.Get([]byte{tableHeader})
	switch {
	case !found:
		return 0, nil // An empty state: any record in it fails the comparison of the digest.
	case len(header) == 0 || header[0] != formatVersion:
		return 0, ErrFormat
	case len(header) != 9:
		return 0, ErrCorrupt
	}
	return binary.LittleEndian.Uint64(header[1:]), nil
}

// loader is the state of a running Load.
type loader struct {
	m       *Machine
	digest  uint64
	scratch []byte
	budgets map[uint32]loadedBudget    // Budgets read so far; they precede their campaigns.
	segment loadedSegment              // The segment whose pieces are being read.
	dynamic map[uint64]*dynamicSegment // The dynamic segments by number; their heads precede their members.
	// These are reused for each record; the feed borrows the values.
	decoder command.Decoder
	product model.Product
	bid     model.Bid
	err     error // Wraps ErrCorrupt.
	refused error // Wraps ErrLevel: the state is intact but too new.
}

type loadedBudget struct {
	ledger.Budget
	hash uint64
}

// scanRecord adds one record of the scan to the digest and loads it. It returns false on an error.
func (l *loader) scanRecord(key, value []byte) bool {
	var hash uint64
	hash, l.scratch = recordHash(l.scratch, key, value)
	l.digest ^= hash
	if err := l.loadRecord(key, value, hash); err != nil {
		l.err = fmt.Errorf("%w: record %x: %w", ErrCorrupt, key, err)
		return false
	}
	return true
}

var errKey = errors.New("malformed key")

// keyLens holds the lengths of the keys from which loadRecord reads numbers; 0 for keys that end in a text.
var keyLens = [tableEnd]int{
	tableState: 1, tablePeriods: 3, tableMarketplace: 3, tableSecrets: 1, tableWallet: 17, tableAdjust: 21,
	tableBudget: 5, tableCampaign: 5, tableBid: 9, tableBucket: 6, tableDedup: 22, tableJournal: 9,
	tableAttempt: 9, tablePace: 5, tablePaced: 1, tableClickDelay: 3, tableTraffic: 3, tableReturned: 5,
	tableTransfer: 17, tableNewTransfer: 27, tableTransit: 19, tableEntry: 25, tableEmptied: 23, tableNotice: 19,
	tableAuctionCell: 9, tableTally: 3,
	tableTouch: touchKeyLen, tableOpenCredit: 25, tableCredit: 23,
	tablePurchase: 21, tableOpenReturn: 25,
	tableLink: 15, tableLinkedTo: 15, tableTouchesFrom: 3, tableBought: 15, tableUserClicks: 15, tableBuyer: buyerKeyLen,
	tableEnrolment: enrolmentKeyLen, tablePlaceCell: 22, tableParticipant: 15, tableEvent: eventKeyLen,
}

// loadRecord decodes a record and puts it into the machine's memory or the feed, as its table requires.
func (l *loader) loadRecord(key, value []byte, hash uint64) error {
	m := l.m
	table, rest := key[0], key[1:]
	if want := keyLens[table]; want != 0 && len(key) != want || want == 0 && len(key) < 3 {
		return errKey
	}
	d := &l.decoder
	*d = command.NewDecoder(value)
	switch table {
	case tableState:
		m.stateHash = hash
		var err error
		m.state, err = readState(value)
		if m.state.level > command.LevelNewest {
			l.refused = fmt.Errorf("%w: %d, it knows %d; start this node with the version that the others run", ErrLevel,
				m.state.level, command.LevelNewest)
			return l.refused
		}
		return err
	case tablePeriods:
		t := m.tenant(binary.BigEndian.Uint16(rest))
		t.periods, t.periodsKnown = command.Periods{}, true
		d.Periods(&t.periods)
		if m.data() {
			m.feed.PutPeriods(m.group, &t.periods)
		}
		return d.Err()
	case tableMarketplace:
		var x model.Marketplace
		d.Marketplace(&x)
		m.tenant(x.Ordinal).set(&x)
		if m.meta {
			m.feed.PutMarketplace(&x)
		}
		return d.Err()
	case tableSecrets:
		var s command.Secrets
		d.Secrets(&s)
		m.feed.PutSecrets(&s)
		return d.Err()
	case tableRecord:
		return l.loadManagementRecord(rest, value)
	case tableCategory:
		var c model.Category
		d.Category(&c)
		m.feed.PutCategory(binary.BigEndian.Uint16(rest), &c)
		return d.Err()
	case tableProduct:
		l.product = model.Product{}
		d.Product(&l.product)
		m.feed.PutProduct(binary.BigEndian.Uint16(rest), &l.product)
		return d.Err()
	case tableWallet:
		w, err := readWallet(ids.UUID(rest), value)
		m.wallets[w.ID] = &wallet{Wallet: w, hash: hash}
		m.countAccount(&w)
		return err
	case tableTransfer:
		_, err := readTransfer(ids.UUID(rest), value)
		return err
	case tableAdjust:
		balance := money.Micros(d.I64())
		m.adjusts.remember(binary.BigEndian.Uint32(rest), ids.UUID(rest[4:]), balance, hash)
		return d.Err()
	case tableBudget:
		b, err := readBudget(value)
		l.budgets[binary.BigEndian.Uint32(rest)] = loadedBudget{b, hash}
		return err
	case tableCampaign:
		return l.loadCampaign(value)
	case tableBid:
		return l.loadBid(binary.BigEndian.Uint32(rest), value)
	case tableBucket:
		k := m.dedup.bucket(bucketID{class(rest[0]), binary.BigEndian.Uint32(rest[1:])}, m.state.now)
		k.count, k.xor, k.hash = d.U64(), d.U64(), hash
		return d.Err()
	case tableDedup:
		return l.loadDedupKey(rest)
	case tableSegment:
		return l.loadSegmentPiece(key, value)
	case tableStaged:
		return l.loadStaged(key, value)
	case tableUnknown:
		return l.loadUnknown(rest, hash)
	case tableVendorMark:
		_ = d.UUID()
		return d.Err()
	case tableNotice:
		m.tenant(binary.BigEndian.Uint16(rest)).noticeBytes += len(value)
		return nil
	case tablePace:
		return m.loadPace(binary.BigEndian.Uint32(rest), value, hash)
	case tablePaced:
		var err error
		m.paced, err = readPacedReports(value)
		m.paced.hash = hash
		for i := range m.paced.reports {
			m.feed.PutCounted(m.group, &m.paced.reports[i].CountedReport)
		}
		return err
	case tableClickRate:
		return l.loadClickRate(key, value, hash)
	case tablePurchases:
		return l.loadPurchases(key, value, hash)
	case tableReturned:
		return m.loadReturned(binary.BigEndian.Uint32(rest), value, hash)
	case tableClickDelay:
		return m.loadDelay(binary.BigEndian.Uint16(rest), value, hash)
	case tableTraffic:
		var t Traffic
		if err := readTraffic(&t, value); err != nil {
			return err
		}
		m.publishTraffic(binary.BigEndian.Uint16(rest), &t)
		return nil
	case tableAuctionCell:
		var a rollup.Auctions
		return a.Decode(value)
	case tableTally:
		_, err := readTally(value)
		return err
	case tableDay:
		return l.loadDay(rest, hash)
	case tableTouch:
		return l.loadTouch(key, value)
	case tableOpenCredit:
		return l.loadOpenCredit(value)
	case tableCredit:
		return l.loadCredit(rest, value)
	case tablePurchase:
		return l.loadPurchase(rest, value)
	case tableReversal:
		return loadReversal(rest, value)
	case tableLink, tableLinkedTo:
		return l.loadLinks(key, value)
	case tableTouchesFrom:
		return l.loadTouchesFrom(binary.BigEndian.Uint16(rest), d)
	case tableWatch:
		return l.loadWatch(key, value)
	case tableBought:
		return l.loadBought(key, value)
	case tableMember:
		return l.loadMember(key, value)
	case tableUserClicks:
		return l.loadUserClicks(key, value)
	case tableBuyer:
		return l.loadBuyer(key)
	case tableEnrolment:
		return l.loadEnrolment(key, value)
	case tableParticipant:
		return l.loadParticipant(key, value)
	case tableEvent:
		return l.loadEvent(key, value)
	case tableAttempt:
		id := d.Sixteen()
		m.attempts.remember(binary.BigEndian.Uint64(rest), id, string(d.Rest()), hash)
		return d.Err()
	}
	return nil // Indexes, counters and the journal are not kept in memory.
}

func (l *loader) loadManagementRecord(key, value []byte) error {
	if len(key) < 4 {
		return errKey
	}
	kind, marketplace := command.RecordKind(key[0]), binary.BigEndian.Uint16(key[1:])
	r, err := readRecord(value)
	if err != nil {
		return err
	}
	class := countKey{kind, marketplace, r.class}
	l.m.counts[class]++
	l.m.expiring.apply(&expiryChange{class: class, id: string(key[3:]), millis: r.expires})
	l.m.feedRecord(kind, marketplace, string(key[3:]), r.value)
	return nil
}

func (l *loader) loadCampaign(value []byte) error {
	c, err := readCampaign(value)
	if err != nil {
		return err
	}
	c.wallet = l.m.wallets[c.Campaign.Wallet]
	budget, found := l.budgets[c.Ordinal]
	if c.wallet == nil || !found || int(c.Ordinal) != len(l.m.campaigns)+1 {
		return errors.New("campaign without wallet or budget, or with an ordinal that does not follow the one before")
	}
	c.budget, c.hash = budget.Budget, budget.hash
	delete(l.budgets, c.Ordinal)
	l.m.addCampaign(c)
	return nil
}

func (l *loader) loadBid(campaign uint32, value []byte) error {
	d := &l.decoder
	*d, l.bid = command.NewDecoder(value), model.Bid{}
	d.Bid(&l.bid)
	if err := d.Err(); err != nil {
		return err
	}
	if campaign == 0 || int(campaign) > len(l.m.campaigns) {
		return errors.New("bid without campaign")
	}
	l.m.feed.PutBid(&l.m.campaigns[campaign-1].Campaign, &l.bid)
	return nil
}

func (l *loader) loadDedupKey(key []byte) error {
	k := l.m.dedup.buckets[bucketID{class(key[0]), binary.BigEndian.Uint32(key[1:])}]
	if k == nil {
		return errors.New("dedup key without bucket")
	}
	id := [16]byte(key[5:])
	if events, _ := event.RepeatHorizons(l.m.state.now); k.id.hour >= events && (k.id.class == classEvent || k.id.class == classReceived) {
		l.m.repeats.add(k.id.hour, &id)
	}
	l.m.dedup.insert(k, &id)
	l.m.dedup.evict(l.m.state.now, l.m.hotBytesMax)
	return nil
}
