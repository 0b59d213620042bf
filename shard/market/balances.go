package market

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Balances holds what the gates of money and pacing read of one campaign, in one cache line that no other campaign
// shares: auctions load it for every bid that passes the gates before. All amounts are in micros.
//
// INVARIANT: only the applier of the campaign's Raft group stores the exported values, each with a plain Store. Of the
// others, auctions add to expected and wins (View.AddWin) and to auctions (View.AddAuctionWon), Spending.Collect stores
// settled, and Market.CollectAuctions takes auctions.
type Balances struct {
	BudgetLeft    atomic.Int64 // Budget left in this period; math.MaxInt64 without a budget.
	WalletBalance atomic.Int64 // Wallet balance; math.MaxInt64 in billing mode post.
	// Hold is the expected cost of the ads that all nodes have served and whose outcome is open, as the leader of the
	// group published it last. WalletHold is its sum over the campaigns that the wallet pays for. Both lie between 0
	// and money.MaxMicros.
	Hold, WalletHold atomic.Int64
	// Pacing is the pacing of the campaign as one word (pacing.Word). It is pacing.Open until the controller stores another.
	Pacing atomic.Uint64

	// expected is the sum of the expected costs of this node's wins since it started, and settled its value up to which
	// wins are assumed to be part of Hold. Both are modulo 2^64, so only their difference has a meaning.
	expected, settled atomic.Uint64

	wins     atomic.Uint32 // The number of this node's wins, modulo 2^32. Collect extends it.
	auctions atomic.Uint32 // The auctions that it has won on this node since the last Market.CollectAuctions.
}

const _ = -(unsafe.Sizeof(Balances{}) ^ 64) // The build fails when the size is not one cache line.

// Pending returns the expected cost of this node's own wins that Hold may not include yet: those of the last two to
// three seconds (Spending.Collect).
//
// It never counts a win too little as long as the leader's hold arrives within two seconds after the report that
// contained the win. It counts a win twice, here and in Hold, from the arrival of that hold until the win leaves this
// sum: at most the wins of three seconds. So headroom is too small for a moment, and no budget is left over because of
// it.
func (b *Balances) Pending() uint64 {
	settled := b.settled.Load() // Read first: expected only grows, so the difference is not negative.
	return b.expected.Load() - settled
}

// HasHeadroom reports whether a campaign surely has headroom for a bid of an amount, whatever its charge type: what is
// left of budget and wallet after the holds, this node's own wins times a number of nodes, and further wins of this
// node is not less than the amount. Nearly all campaigns have. For the others the gates are evaluated one by one.
func (b *Balances) HasHeadroom(amount, nodes, further uint64) bool {
	const few = 1 << 30 // Times a number of nodes, and plus an amount, this is below 2^63.
	pending := b.Pending() + further
	return pending < few && b.headroom() >= int64(amount+nodes*pending)
}

// headroom returns what is left of budget and wallet after the holds, whichever is less. It can be negative.
func (b *Balances) headroom() int64 {
	return min(b.BudgetLeft.Load()-b.Hold.Load(), b.WalletBalance.Load()-b.WalletHold.Load()) // Far from an overflow.
}

// claimMax bounds Claimed, so that a sum with a hold does not overflow.
const claimMax = 1 << 62

// Claimed returns what wins of pending expected cost take off a campaign's headroom while a number of nodes serve: the
// other nodes are assumed to win as much as this one, because their wins arrive with the leader's next hold only.
func Claimed(nodes, pending uint64) int64 {
	hi, lo := bits.Mul64(nodes, pending)
	if hi != 0 || lo > claimMax {
		return claimMax
	}
	return int64(lo) // At most claimMax.
}

// balanceChunk holds the balances of chunkRows campaigns. Chunks never move, so pointers into them stay valid until
// the process ends.
type balanceChunk struct {
	changed [chunkRows / 64]atomic.Uint64 // One bit per campaign: it has won since the last Spending.Collect.
	counted [chunkRows / 64]atomic.Uint64 // One bit per campaign: it has counts for the next Market.CollectAuctions.
	rows    [chunkRows]Balances
	// ids are the ids of the campaigns as text, which only winners need. They never change. Each has a cache line, so
	// that one prefetch loads it.
	ids [chunkRows]struct {
		text [ids.TextLen]byte
		_    [64 - ids.TextLen]byte
	}
	lost [chunkRows]lossCounts
}

// row returns the balances at an index of the chunk. It computes the address for the reason given at frozen.at.
func (c *balanceChunk) row(i uint32) *Balances {
	return (*Balances)(unsafe.Add(unsafe.Pointer(c), unsafe.Offsetof(c.rows)+uintptr(i)*unsafe.Sizeof(Balances{})))
}

// addBalances allocates the balances of another chunk of campaigns.
func (m *Market) addBalances() {
	chunk := new(balanceChunk) // Larger than 32 KiB, so it begins at a page, and each row at a cache line.
	for i := range chunk.rows {
		chunk.rows[i].Pacing.Store(pacing.Open)
	}
	m.balances = append(m.balances, chunk)
}

func (m *Market) balancesAt(row uint32) *Balances {
	return m.balances[row>>chunkBits].row(row % chunkRows)
}

// Balances returns the balances of the campaign at a row.
func (v *View) Balances(row uint32) *Balances { return v.balances[row>>chunkBits].row(row % chunkRows) }

// CampaignText returns a campaign's id as text.
func (v *View) CampaignText(row uint32) *[ids.TextLen]byte {
	return &v.balances[row>>chunkBits].ids[row%chunkRows].text
}

// AddWin adds a win of this node to the own totals of a campaign, which at once takes its expected cost off the
// headroom that this node sees. It may be called concurrently and does not wait.
func (v *View) AddWin(row uint32, expected money.Micros) {
	chunk := v.balances[row>>chunkBits]
	b := chunk.row(row % chunkRows)
	b.expected.Add(uint64(expected)) // Not negative.
	b.wins.Add(1)
	// The bit is read after the totals have grown. So a Collect that clears it reads the new totals, or this call sees
	// it cleared and sets it for the next Collect. It is usually set already; then nothing is written.
	if chunk.changed[row%chunkRows/64].Load()>>(row%64)&1 == 0 {
		chunk.markChanged(row)
	}
}

func (c *balanceChunk) markChanged(row uint32) { c.changed[row%chunkRows/64].Or(1 << (row % 64)) }

// SetServingNodes stores the number of nodes that answer auctions: every node of the cluster that is not known to be
// down, this one included. Own wins take that many times their expected cost off a campaign's headroom. The number is 0
// until the first call; then own wins take nothing off, because without a Spending nothing would put it back.
func (m *Market) SetServingNodes(n uint32) { m.servingNodes.Store(n) }

// ServingNodes returns the number that SetServingNodes stored last.
func (v *View) ServingNodes() uint32 { return v.servingNodes.Load() }
