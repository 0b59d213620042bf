// Package market is what an auction reads: the marketplace's products, categories, campaigns and bids, held as one
// immutable view per node behind an atomic pointer.
//
// The replicated machines of all raft groups feed one Market (see Feed); its Publish makes everything fed so far
// visible at once. Readers load the view once per request and never lock. The only values that change under a view are
// the balances in each campaign's Slot, which the applier of that campaign's group stores and auctions load.
package market
