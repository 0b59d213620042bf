package market

import "unsafe"

// Ahead gathers places in memory that will be read soon and asks for all of them at once. A step that follows an id from table
// to product to bid to campaign waits for each line in turn; asked for ahead, the lines of many ids are on their way
// together, and the processor meanwhile does something else. Asking changes nothing but time: results never depend on it.
//
// The zero value is ready. It holds addresses and no pointers, because nothing is read through them: an address that means nothing
// any more is not even an error.
type Ahead struct {
	lines [aheadMax]uintptr
	n     int
}

// aheadMax is how many lines are asked for in one go. BOUND: more than a processor can have on their way.
const aheadMax = 128

func (a *Ahead) add(p unsafe.Pointer) {
	if a.n == aheadMax {
		a.Ask()
	}
	a.lines[a.n] = uintptr(p)
	a.n++
}

// Ask asks for what was gathered and forgets it.
func (a *Ahead) Ask() {
	prefetchLines(&a.lines[0], uintptr(a.n)) //nolint:gosec // At most aheadMax.
	a.n = 0
}

// Entry is for the table entry that Product will read of a hash.
func (a *Ahead) Entry(v *View, hash uint64) {
	t := v.productTable
	a.add(unsafe.Pointer(&t.entries[hash&t.mask*bucketStride]))
}

// Tags is for the word that Products tests of a hash, which Product reads too.
func (a *Ahead) Tags(v *View, hash uint64) {
	t := v.productTable
	a.add(unsafe.Pointer(&t.tags[hash&t.mask]))
}

// Product is for the row of a product.
func (a *Ahead) Product(v *View, row uint32) { a.add(unsafe.Pointer(v.products.at(row))) }

// Offer is for what decides about a product's first bid and is written if it wins: the bid, its campaign with the balances, and the
// product's id.
func (a *Ahead) Offer(v *View, r *ProductRow) {
	a.add(unsafe.Pointer(&v.texts[r.key>>byteChunkBits][r.key%byteChunkSize]))
	if r.Bids == 0 {
		return
	}
	bid := unsafe.Pointer(&v.bids[r.block>>bidChunkBits][r.block%bidChunkRows])
	a.add(bid)
	a.add(unsafe.Add(bid, unsafe.Sizeof(BidRow{})-1)) // Every third row lies in two lines.
	a.add(unsafe.Pointer(v.campaigns.at(r.Campaign)))
	a.add(unsafe.Pointer(v.Slot(r.Campaign)))
}
