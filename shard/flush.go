package shard

import (
	"encoding/binary"
	"math"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// formatVersion is the version of the stored form of the state.
const formatVersion = 1

// EndBatch publishes the balances and what was learned that a batch of commands has changed. It reports whether Flush may
// be deferred to a later batch: the commands were Events, of which auctions then know everything.
func (m *Machine) EndBatch() (deferrable bool) {
	for _, w := range m.dirtyWallets {
		m.publishWalletOf(w)
	}
	m.publishClickRates()
	m.publishDelays()
	m.publishPurchases()
	m.publishReturned()
	return !m.managed
}

// Flush writes the hot records that the batch has changed, each once, however many commands changed it. The caller then
// commits the batch.
func (m *Machine) Flush(b Batch) {
	m.b = b
	for _, c := range m.dirtyCampaigns {
		m.value = appendBudget(m.value[:0], &c.budget)
		m.key = keyBudget(m.key[:0], c.Ordinal)
		c.hash = m.replace(m.key, m.value, c.hash)
		c.dirty = false
	}
	m.dirtyCampaigns = m.dirtyCampaigns[:0]
	for _, w := range m.dirtyWallets {
		m.value = appendWallet(m.value[:0], &w.Wallet)
		m.key = keyWallet(m.key[:0], w.ID)
		w.hash = m.replace(m.key, m.value, w.hash)
		w.dirty = false
		m.publishWalletOf(w)
	}
	m.dirtyWallets = m.dirtyWallets[:0]
	m.publishHolds()
	m.flushBuckets()
	m.flushDays()
	m.flushCells()
	m.flushClickRates()
	m.flushDelays()
	m.flushPurchases()
	m.flushReturned()
	m.key = append(m.key[:0], tableState)
	m.value = appendState(m.value[:0], &m.state)
	m.stateHash = m.replace(m.key, m.value, m.stateHash)
	if m.written {
		b.Set(appendHeader(m.digest))
	}
	m.publishedDigest.Store(m.digest) // Package raftstore stores it with the batch.
}

// Committed ends a batch and makes its changes visible to auctions. REQUIRES: the batch is committed.
func (m *Machine) Committed() {
	m.b, m.written, m.managed = nil, false, false
	m.overlay = cleared(m.overlay)
	m.touchCounts.fresh = m.touchCounts.fresh[:0]
	m.dedup.evict(m.state.now, m.hotBytesMax)
	m.cells.evict()
	if m.changed {
		m.changed = false
		m.feed.Publish()
	}
}

// cleared returns an empty map: the same one, or a new one after a large batch. Clearing takes time in proportion to
// the largest size that a map ever had, which every later batch would pay.
func cleared[K comparable, V any](all map[K]V) map[K]V {
	const keepMax = 1_024
	if len(all) > keepMax {
		return make(map[K]V)
	}
	clear(all)
	return all
}

// markDirty makes Flush write the campaign's budget.
func (m *Machine) markDirty(c *campaign) {
	if !c.dirty {
		c.dirty = true
		m.dirtyCampaigns = append(m.dirtyCampaigns, c)
	}
}

// markWalletDirty makes EndBatch publish the wallet and Flush write it.
func (m *Machine) markWalletDirty(w *wallet) {
	w.published = false
	if !w.dirty {
		w.dirty = true
		m.dirtyWallets = append(m.dirtyWallets, w)
	}
}

// publishBalances stores the balances of a campaign where auctions read them. Flush does it for the other campaigns of
// the same wallet, once for the whole batch, because a vendor may have thousands of campaigns and a batch takes only
// milliseconds.
func (m *Machine) publishBalances(c *campaign) {
	left, limited := c.budget.Left()
	if !limited {
		left = math.MaxInt64
	}
	c.balances.BudgetLeft.Store(int64(left))
	m.publishWallet(c)
}

// publishHolds stores the changed holds of wallets where auctions read them, once for a batch.
func (m *Machine) publishHolds() {
	for _, w := range m.dirtyHolds {
		w.holdDirty = false
		for _, c := range w.campaigns {
			m.publishWallet(c)
		}
	}
	m.dirtyHolds = m.dirtyHolds[:0]
}

// publishWalletOf stores the changed balance of a wallet where auctions of its campaigns read it.
func (m *Machine) publishWalletOf(w *wallet) {
	if !w.published {
		w.published = true
		for _, c := range w.campaigns {
			m.publishWallet(c)
		}
	}
}

// publishWallet stores the wallet balance and the hold of the wallet of a campaign where auctions read it.
func (m *Machine) publishWallet(c *campaign) {
	c.balances.WalletHold.Store(c.wallet.hold.micros())
	if m.tenant(c.Marketplace).postPaid {
		c.balances.WalletBalance.Store(math.MaxInt64)
		return
	}
	c.balances.WalletBalance.Store(int64(c.wallet.Balance))
}

func appendHeader(digest uint64) (key, value []byte) {
	return []byte{tableHeader}, binary.LittleEndian.AppendUint64([]byte{formatVersion}, digest)
}

func appendState(dst []byte, s *state) []byte {
	dst = command.AppendMillis(dst, s.now)
	dst = binary.LittleEndian.AppendUint32(dst, s.lastCampaign)
	dst = binary.LittleEndian.AppendUint32(dst, s.lastBid)
	dst = binary.LittleEndian.AppendUint64(dst, s.lastVersion)
	dst = binary.LittleEndian.AppendUint64(dst, s.lastLine)
	dst = append(dst, s.chain[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(s.level))
	return binary.LittleEndian.AppendUint64(dst, s.turn)
}

func readState(b []byte) (s state, err error) {
	d := command.NewDecoder(b)
	s = state{
		now: d.I64(), lastCampaign: d.U32(), lastBid: d.U32(), lastVersion: d.U64(), lastLine: d.U64(),
		chain: d.Sixteen(), level: command.Level(d.U16()), turn: d.U64(),
	}
	return s, d.Err()
}

func appendBudget(dst []byte, b *ledger.Budget) []byte {
	dst = command.AppendMoney(dst, b.Amount)
	dst = binary.LittleEndian.AppendUint32(dst, b.Period)
	dst = command.AppendMoney(dst, b.Spent)
	dst = command.AppendMoney(dst, b.SpentTotal)
	if b.OverdeliveredTotal == 0 && !b.Carries() && b.FirstLine == 0 { // Always before command.LevelPacing.
		return dst
	}
	dst = command.AppendMoney(dst, b.Overdelivered)
	dst = command.AppendMoney(dst, b.OverdeliveredTotal)
	if !b.Carries() && b.FirstLine == 0 {
		return dst
	}
	dst = append(dst, b.Days)
	dst = command.AppendMoney(dst, b.Carried)
	dst = command.AppendMoney(dst, b.Saved)
	if b.FirstLine == 0 { // Always before command.LevelReturns.
		return dst
	}
	return binary.LittleEndian.AppendUint64(dst, b.FirstLine)
}

func readBudget(b []byte) (ledger.Budget, error) {
	d := command.NewDecoder(b)
	budget := ledger.Budget{Amount: d.Price(), Period: d.U32(), Spent: d.Price(), SpentTotal: d.Price()}
	if d.More() {
		budget.Overdelivered, budget.OverdeliveredTotal = d.Price(), d.Price()
	}
	if d.More() {
		budget.Carryover = ledger.Carryover{Days: d.U8(), Carried: d.Price(), Saved: d.Price()}
	}
	if d.More() {
		budget.FirstLine = d.U64()
	}
	return budget, d.Err()
}

// appendWallet leaves the id out, because it is the key.
func appendWallet(dst []byte, w *ledger.Wallet) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, w.Marketplace)
	dst = command.AppendText(dst, w.VendorID)
	dst = command.AppendText(dst, w.Name)
	dst = command.AppendBool(dst, w.Default)
	dst = command.AppendMoney(dst, w.Balance)
	dst = command.AppendMoney(dst, w.Deposited)
	dst = command.AppendMoney(dst, w.Spent)
	dst = command.AppendMillis(dst, w.CreatedMillis)
	dst = command.AppendMoney(dst, w.Transferred)
	dst = command.AppendText(dst, w.Currency)
	return binary.LittleEndian.AppendUint32(dst, w.EmptiedCount)
}

func readWallet(id ids.UUID, b []byte) (ledger.Wallet, error) {
	d := command.NewDecoder(b)
	w := ledger.Wallet{
		ID: id, Marketplace: d.U16(), VendorID: d.Text(), Name: d.Text(), Default: d.Bool(),
		Balance: d.Money(), Deposited: d.Money(), Spent: d.Price(), CreatedMillis: d.I64(),
		Transferred: d.Money(), Currency: d.Text(), EmptiedCount: d.U32(),
	}
	return w, d.Err()
}

func appendCampaign(dst []byte, c *campaign) []byte {
	dst = command.AppendCampaign(dst, &c.Campaign)
	dst = binary.LittleEndian.AppendUint32(dst, c.firstBid)
	return binary.LittleEndian.AppendUint32(dst, c.bids)
}

func readCampaign(b []byte) (*campaign, error) {
	d := command.NewDecoder(b)
	c := new(campaign)
	d.Campaign(&c.Campaign)
	c.firstBid, c.bids = d.U32(), d.U32()
	return c, d.Err()
}
