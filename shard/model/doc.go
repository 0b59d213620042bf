// Package model holds what a marketplace consists of, as the engine knows it: the marketplace and its settings, vendors,
// the catalog, campaigns with their targeting, bids with their creatives, and the places where ads are shown.
//
// These are plain values without behavior beyond short questions about themselves. Packages command and shard store and
// change them; package market indexes them for auctions. Constants whose comment says that their numbers are part of
// stored records are append only.
package model
