// Package learn holds the statistics that the replicas learn from the log: click rates, the visibility of ranks, the
// delay of clicks, the purchases after clicks, and how traffic is distributed over the hours of a week. All of it is integer arithmetic, so that
// every replica learns the same from the same commands on every CPU. Package shard stores the values and decides what
// teaches them; package market shows the click rates to auctions.
package learn

// One is 1 in the units of counts, visibilities and factors.
const One = 1 << 16
