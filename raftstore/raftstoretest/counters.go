// Package raftstoretest provides what tests of replication need: small state machines, file systems that crash or fill
// up, a network in memory, and a cluster of real stores for synctest bubbles.
package raftstoretest

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/gavel-ads/gavel/raftstore"
)

// Counters is a state machine that counts: the command is a name, the result the number of times it was applied, as 8
// bytes big-endian. Names that begin with '!' are refused with an empty result.
//
// Like the real machine it keeps its state in memory, writes what changed at the end of each batch, and hashes its
// state by the xor of record hashes.
type Counters struct {
	mu      sync.Mutex // The machine runs in one goroutine; tests read it from others.
	counts  map[string]uint64
	dirty   map[string]struct{}
	digest  uint64
	Batches int // Committed.
}

var _ raftstore.StateMachine = (*Counters)(nil)

// NewCounters returns an empty machine.
func NewCounters() *Counters {
	return &Counters{counts: map[string]uint64{}, dirty: map[string]struct{}{}}
}

// Factory returns a new machine for a group.
func Factory(uint16) raftstore.StateMachine { return NewCounters() }

func recordHash(name string, n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return xxhash.Sum64(binary.BigEndian.AppendUint64([]byte(name), n))
}

// Load reads all counts.
func (c *Counters) Load(r raftstore.Reader) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.counts)
	clear(c.dirty)
	c.digest = 0
	r.Scan([]byte{0}, []byte{0xFF}, func(key, value []byte) bool {
		if len(value) != 8 {
			err = fmt.Errorf("count %q has %d bytes", key, len(value))
			return false
		}
		n := binary.BigEndian.Uint64(value)
		c.counts[string(key)] = n
		c.digest ^= recordHash(string(key), n)
		return true
	})
	return err
}

// Apply counts a name.
func (c *Counters) Apply(_ raftstore.Batch, cmd []byte) (result []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(cmd) == 0 || cmd[0] == '!' {
		return nil
	}
	name := string(cmd)
	n := c.counts[name]
	c.digest ^= recordHash(name, n) ^ recordHash(name, n+1)
	c.counts[name] = n + 1
	c.dirty[name] = struct{}{}
	return binary.BigEndian.AppendUint64(nil, n+1)
}

// EndBatch defers no write.
func (c *Counters) EndBatch() (deferrable bool) { return false }

// Flush writes the counts that changed.
func (c *Counters) Flush(b raftstore.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.dirty {
		b.Set([]byte(name), binary.BigEndian.AppendUint64(nil, c.counts[name]))
	}
	clear(c.dirty)
}

// Committed counts batches.
func (c *Counters) Committed() {
	c.mu.Lock()
	c.Batches++
	c.mu.Unlock()
}

// Digest is the xor of all record hashes.
func (c *Counters) Digest() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.digest
}

// Count returns how often a name was applied.
func (c *Counters) Count(name string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[name]
}
