package market

import (
	"unsafe"

	"github.com/gavel-ads/gavel/shard/ids"
)

// Prefetcher collects addresses that will be read soon and prefetches their cache lines together. Following an id from
// the table to product, bid and campaign waits for one cache line after the other. With a prefetch, the lines of many
// ids are loaded at the same time while the processor continues. Prefetching changes only the time: results never
// depend on it.
//
// The zero value is ready to use. It holds addresses as uintptr instead of pointers, because nothing is read through
// them: the prefetch of an address that is no longer valid has no effect.
type Prefetcher struct {
	lines [prefetchMax]uintptr
	n     int
}

// prefetchMax is how many cache lines are prefetched at once. BOUND: more than a processor can load at the same time.
const prefetchMax = 128

func (a *Prefetcher) add(p unsafe.Pointer) {
	if a.n == prefetchMax {
		a.Flush()
	}
	a.lines[a.n] = uintptr(p)
	a.n++
}

// Flush prefetches the collected lines and empties the collection.
func (a *Prefetcher) Flush() {
	prefetchLines(&a.lines[0], uintptr(a.n)) // At most aheadMax.
	a.n = 0
}

// AddEntry adds the table entry that View.Product will read for a hash.
func (a *Prefetcher) AddEntry(v *View, hash uint64) { a.addEntry(v.productTable, hash) }

func (a *Prefetcher) addEntry(t *table, hash uint64) {
	a.add(unsafe.Pointer(&t.entries[hash&t.mask*bucketStride]))
}

// AddTags adds the tag word of a hash, which TagFilter.MayContain and View.Product read.
func (a *Prefetcher) AddTags(v *View, hash uint64) { a.addTags(v.productTable, hash) }

func (a *Prefetcher) addTags(t *table, hash uint64) { a.add(unsafe.Pointer(&t.tags[hash&t.mask])) }

// AddProduct adds the row of a product.
func (a *Prefetcher) AddProduct(v *View, row uint32) { a.add(unsafe.Pointer(v.products.at(row))) }

// AddCampaignText adds what View.CampaignText returned.
func (a *Prefetcher) AddCampaignText(text *[ids.TextLen]byte) { a.add(unsafe.Pointer(text)) }

// AddAd adds what View.ClickRate reads of an ad.
func (a *Prefetcher) AddAd(v *View, ad AdKey) {
	if t := v.clicks.ads.Load(); t != nil {
		a.add(unsafe.Pointer(&t.entries[t.index(ad)]))
	}
}

// AddFirstBid adds everything that decides whether the first bid of a product competes and that is written if it wins:
// the bid, its campaign, the campaign's balances, and the product's id.
func (a *Prefetcher) AddFirstBid(v *View, r *ProductRow) {
	a.add(unsafe.Pointer(&v.texts[r.key>>byteChunkBits][r.key%byteChunkSize]))
	if r.Bids == 0 {
		return
	}
	bid := unsafe.Pointer(&v.bids[r.block>>bidChunkBits][r.block%bidChunkRows])
	a.add(bid)
	a.add(unsafe.Add(bid, unsafe.Sizeof(BidRow{})-1)) // Every third row spans two cache lines.
	a.add(unsafe.Pointer(v.campaigns.at(r.Campaign)))
	a.add(unsafe.Pointer(v.Balances(r.Campaign)))
}
