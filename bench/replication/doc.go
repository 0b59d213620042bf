// Package replication measures charges a second through raftstore, and through hashicorp/raft on other log stores beside it
// in the same run. It is a module of its own, so that the alternatives stay out of the product's go.mod.
//
//	make bench-replication
//
// A charge is 64 bytes. An operation is one entry of so many charges; so many callers have one on its way each. All nodes
// are in this process and on one disk, over TCP on loopback. Every store waits for the disk before it answers. raftstore
// does more than the others: it also writes a tail guard and the applied state, checksums entries, and packs what callers
// leave waiting into common entries; the others count in memory. So entries in flight are what the callers make them for all but
// raftstore, which has four at most; pebblelog is its log with the guard under plain raft, for the comparison of logs alone.
package replication
