// Package replication measures how many charges per second raftstore commits, and in the same run hashicorp/raft on other log
// stores. It is a separate module, so that the alternatives stay out of the product's go.mod.
//
//	make bench-replication
//
// A charge is 64 bytes. An operation commits one entry of a number of charges, and a number of callers have one operation
// in progress each. All nodes are in this process and on one disk, connected over TCP on loopback. Every store waits for the
// disk before it answers. raftstore does more than the others: it also writes a tail guard and the applied state, checksums
// entries, and combines waiting commands into common entries, of which at most four are in flight; the others count bytes in
// memory, and every caller has its own entry in flight. pebblelog is raftstore's log with the guard under plain raft, for a
// comparison of the logs alone.
package replication
