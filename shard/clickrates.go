package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// ClickAdsMax bounds the ads of a group and marketplace whose click rates are learned one by one. An ad is a product, or
// the bid of a banner or sponsored brand, at a placement. An impression of a further ad teaches the rates of its placement
// and format only, which are what auctions then use for it. At the end of a day, ads of which less than one impression is
// left are dropped. BOUND: 32,768 records of about 40 bytes, read at every start, and 5 MB of memory.
const ClickAdsMax = 1 << 15

// clickRates are the click rates that a group has learned from its counted events. They are hot records: kept in memory
// as a whole, and written once per batch.
//
// A counted impression or click teaches three cells: that of the ad at its placement, that of the placement and format, and
// that of the format (market.ClickLevel). Each cell has decayed to the local day on which it was taught last. Auctions get
// it decayed to the current local day.
type clickRates struct {
	cells map[string]*clickCell // By stored key.
	ads   map[uint16]int        // Number of cells at market.ClickAd by marketplace.
	dirty []*clickCell
	// changed are the cells that auctions do not have as they are.
	changed []*clickCell
}

type clickCell struct {
	key   string
	of    market.ClickCell // What the key says.
	hash  uint64           // Hash of the stored record; 0 when there is none.
	dirty bool
	// changed says that the cell is among clickRates.changed.
	changed bool
	learn.Rate
}

func newClickRates() clickRates {
	return clickRates{cells: make(map[string]*clickCell), ads: make(map[uint16]int)}
}

// teach learns from an event that was counted, is the first report of its token as far as the state knows, and tells the
// rank of its ad.
func (m *Machine) teach(c *campaign, r *command.EventRecord) {
	switch r.Kind {
	case event.Click:
		m.teachDelay(c.Marketplace, r.AgeSeconds)
		m.teachClick(c, r)
	case event.Impression:
	default:
		return
	}
	for level := range market.ClickLevel(market.ClickLevels) {
		m.key = keyClickRate(m.key[:0], c.Marketplace, c.Format, level)
		if level >= market.ClickPlacement {
			m.key = append(m.key, r.Place.Placement())
		}
		switch {
		case level < market.ClickAd:
		case c.Format != model.Listing:
			m.key = appendU32(m.key, r.Bid)
		case len(r.Product) == 0:
			return // The proposer did not know the bid.
		default:
			m.key = append(m.key, r.Product...)
		}
		m.teachCell(r)
	}
}

// teachCell adds an event to the cell whose key is m.key.
func (m *Machine) teachCell(r *command.EventRecord) {
	cell := m.clickCell()
	if cell == nil {
		return
	}
	day := m.tenant(cell.of.Marketplace).periods.Day
	if r.Kind == event.Click {
		cell.Click(day)
	} else {
		cell.Impression(day, learn.Visibility(r.Rank))
	}
	if !cell.changed {
		cell.changed = true
		m.clicks.changed = append(m.clicks.changed, cell)
	}
	if !cell.dirty {
		cell.dirty = true
		m.clicks.dirty = append(m.clicks.dirty, cell)
	}
}

// clickCell returns the cell whose key is m.key. It is nil when there is none and the marketplace may have no more.
func (m *Machine) clickCell() *clickCell {
	cell := m.clicks.cells[string(m.key)]
	if cell != nil {
		return cell
	}
	cell = newClickCell(string(m.key))
	if !m.addClickCell(cell) {
		return nil
	}
	return cell
}

func newClickCell(key string) *clickCell { return &clickCell{key: key, of: clickCellOf(key)} }

// addClickCell adds a cell, unless it is one ad too many.
func (m *Machine) addClickCell(cell *clickCell) bool {
	if cell.of.Level == market.ClickAd {
		if m.clicks.ads[cell.of.Marketplace] >= m.clickAdsMax {
			return false
		}
		m.clicks.ads[cell.of.Marketplace]++
	}
	m.clicks.cells[cell.key] = cell
	return true
}

// publishClickRates publishes the changed cells to auctions.
func (m *Machine) publishClickRates() {
	for _, cell := range m.clicks.changed {
		cell.changed = false
		if m.clicks.cells[cell.key] == cell { // Else it was dropped since.
			m.publishClickRate(cell)
		}
	}
	m.clicks.changed = m.clicks.changed[:0]
}

// flushClickRates writes and publishes the cells that the batch has changed.
func (m *Machine) flushClickRates() {
	m.publishClickRates()
	for _, cell := range m.clicks.dirty {
		cell.dirty = false
		if m.clicks.cells[cell.key] != cell {
			continue // Dropped since.
		}
		m.key = append(m.key[:0], cell.key...)
		m.value = appendClickRate(m.value[:0], &cell.Rate)
		cell.hash = m.replace(m.key, m.value, cell.hash)
	}
	m.clicks.dirty = m.clicks.dirty[:0]
}

// publishClickRate publishes a cell to auctions as it is on the marketplace's current day.
func (m *Machine) publishClickRate(cell *clickCell) {
	rate := cell.Rate
	rate.Decay(m.tenant(cell.of.Marketplace).periods.Day)
	m.feed.PutClickRate(m.group, &cell.of, rate.Counts)
}

// rollClickRates begins a local day of a marketplace: it publishes all cells again, because they have decayed, and drops
// the ads of which less than one impression is left, so that others can be learned.
func (m *Machine) rollClickRates(marketplace uint16) {
	for key, cell := range m.clicks.cells { // order: every cell is handled for itself.
		if cell.of.Marketplace != marketplace {
			continue
		}
		rate := cell.Rate
		rate.Decay(m.tenant(marketplace).periods.Day)
		if cell.of.Level != market.ClickAd || rate.Impressions >= learn.One {
			m.feed.PutClickRate(m.group, &cell.of, rate.Counts)
			continue
		}
		delete(m.clicks.cells, key)
		m.clicks.ads[marketplace]--
		m.feed.PutClickRate(m.group, &cell.of, learn.Counts{})
		if cell.hash != 0 {
			m.digest ^= cell.hash
			m.written = true
			m.key = append(m.key[:0], key...)
			m.b.Delete(m.key)
		}
	}
}

// loadClickRate restores a cell. The periods of its marketplace are loaded already.
func (l *loader) loadClickRate(key, value []byte, hash uint64) error {
	if !isClickRateKey(key) {
		return errKey
	}
	cell := newClickCell(string(key))
	if err := readClickRate(&cell.Rate, value); err != nil {
		return err
	}
	cell.hash = hash
	if !l.m.addClickCell(cell) {
		return errors.New("one click rate too many")
	}
	l.m.publishClickRate(cell)
	return nil
}

// clickRateKeyMin is the length of the key of a format: table, marketplace, format and level.
const clickRateKeyMin = 1 + 2 + 1 + 1

// isClickRateKey reports whether a key is one that teach makes.
func isClickRateKey(key []byte) bool {
	if len(key) < clickRateKeyMin || int(key[3]) >= model.AdFormats {
		return false
	}
	switch rest := len(key) - clickRateKeyMin; market.ClickLevel(key[4]) {
	case market.ClickFormat:
		return rest == 0
	case market.ClickPlacement:
		return rest == 1
	case market.ClickAd:
		return rest > 1 && (model.AdFormat(key[3]) == model.Listing || rest == 1+4)
	}
	return false
}

// clickCellOf returns what a key names. REQUIRES: isClickRateKey.
func clickCellOf(key string) market.ClickCell {
	c := market.ClickCell{
		Marketplace: uint16(key[1])<<8 | uint16(key[2]), Format: model.AdFormat(key[3]), Level: market.ClickLevel(key[4]),
	}
	rest := key[clickRateKeyMin:]
	if c.Level >= market.ClickPlacement {
		c.Placement = rest[0]
	}
	switch {
	case c.Level < market.ClickAd:
	case c.Format == model.Listing:
		c.Product = rest[1:]
	default:
		c.Bid = binary.BigEndian.Uint32([]byte(rest[1:]))
	}
	return c
}

func appendClickRate(dst []byte, r *learn.Rate) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, r.Day)
	dst = binary.LittleEndian.AppendUint64(dst, r.Impressions)
	return binary.LittleEndian.AppendUint64(dst, r.Clicks)
}

func readClickRate(r *learn.Rate, stored []byte) error {
	d := command.NewDecoder(stored)
	r.Day, r.Impressions, r.Clicks = d.U32(), d.U64(), d.U64()
	return d.Err()
}
