package shardtest

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Replica is a machine with its store, called as by a node.
type Replica struct {
	KV      *KV
	Feed    *Feed
	Machine *shard.Machine
	batch   *Batch
}

// NewReplica opens a machine of the group on a store.
func NewReplica(group ids.Group, meta bool, kv *KV) (*Replica, error) {
	r := &Replica{KV: kv, Feed: NewFeed(), batch: kv.Batch()}
	r.Machine = shard.New(group, meta, r.Feed)
	return r, r.Machine.Load(kv)
}

// Apply applies a command in the current batch.
func (r *Replica) Apply(cmd []byte) []byte {
	return r.Machine.Apply(r.batch, cmd)
}

// Commit flushes and commits the current batch.
func (r *Replica) Commit() {
	r.Machine.Flush(r.batch)
	r.batch.Commit()
	r.Machine.Committed()
}

// Do applies one command in a batch of its own and returns the answer.
func (r *Replica) Do(cmd []byte) []byte {
	answer := r.Apply(cmd)
	r.Commit()
	return answer
}

// Queries returns the queries on the committed state.
func (r *Replica) Queries() shard.Queries { return shard.Queries{R: r.KV} }

// Reseal sets the checksum of a command whose header or body was changed.
func Reseal(cmd []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(cmd[:16], table), table, cmd[command.HeaderLen:])
	binary.LittleEndian.PutUint32(cmd[16:], sum)
	return cmd
}
