package pebblelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/durable"
)

const (
	sectorBytes    = 512 // A slot never shares a sector, so a torn write cannot touch the other slot.
	guardMagic     = 0x47564744
	guardVersion   = 1
	guardHeadBytes = 56
	voteBytesMax   = 255
)

// MaxGroup is the largest group id. BOUND: the guard file reserves 1 KB for a group, 1 MB in all.
const MaxGroup = 1022

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// guardRecord is what the guard holds for a group.
type guardRecord struct {
	term      uint64
	voteTerm  uint64 // Term of the last vote of which both writes are done.
	vote      []byte // The candidate of that vote.
	lastIndex uint64 // Every entry up to it was durable when this was written.
	commit    uint64 // An index known to be applied; RecoverQuorum reports it.
}

// guard is the tail guard: a small file outside Pebble that records how far the log had come. Pebble opens without an
// error after one flipped bit in its MANIFEST or in the last block of its log, with the newest entries gone; a voter
// that forgot entries it acknowledged can elect a leader without them. A node behind its guard does not vote.
//
// The file has one record per group, and record 0 for the node. A record has two slots in sectors of their own, written
// in turn with a growing sequence number and a checksum, so a torn write leaves the older one. It is written through
// vfs.File, so that it works on the file systems of crash tests too.
//
// One goroutine writes: all records that are posted while it waits for the disk go out with its next sync, so several
// groups share syncs. A caller posts before its Pebble commit and waits after it; both syncs run side by side.
//
// INVARIANT: the guard is never ahead of the log. It holds the index of the previous durable batch while a batch is
// being written, and is lowered, synced, before entries are deleted.
type guard struct {
	file    vfs.File
	cluster uint64

	mu      sync.Mutex
	changed sync.Cond
	slots   map[int]guardSlot // By record: the slots on disk.
	pending map[int]guardRecord
	posted  uint64 // The last ticket that was given.
	synced  uint64 // The last ticket whose record is durable.
	syncs   uint64
	closed  bool
	err     error
	done    chan struct{}
}

type guardSlot struct {
	seq    uint64
	record guardRecord
}

// nodeRecord is the record of the node; its lastIndex holds the epoch. Group g has record 1+g.
const nodeRecord = 0

func groupRecord(group uint16) int { return 1 + int(group) }

// createGuard writes an empty guard file with space for the groups. It appears complete or not at all: half a guard
// after a crash of the first start would be a false alarm.
func createGuard(fs vfs.FS, path string, groups []uint16) error {
	last := nodeRecord
	for _, g := range groups {
		last = max(last, groupRecord(g))
	}
	f, err := fs.Create(path+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, (last+1)*2*sectorBytes))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(fs.Rename(path+".tmp", path), durable.SyncDir(fs, fs.PathDir(path)))
}

// openGuard reads an existing guard file and starts its writer.
func openGuard(fs vfs.FS, path string, cluster uint64, former []uint64, groups []uint16) (*guard, error) {
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	g := &guard{
		file: f, cluster: cluster, slots: map[int]guardSlot{}, pending: map[int]guardRecord{}, done: make(chan struct{}),
	}
	g.changed.L = &g.mu
	records := []int{nodeRecord}
	for _, group := range groups {
		records = append(records, groupRecord(group))
	}
	for _, r := range records {
		if g.slots[r], err = g.read(r, former); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	go g.run()
	return g, nil
}

// read returns the newer valid slot of a record; a record that was never written is empty.
func (g *guard) read(record int, former []uint64) (newest guardSlot, err error) {
	var sectors [2 * sectorBytes]byte
	n, err := g.file.ReadAt(sectors[:], int64(record)*int64(len(sectors)))
	if err != nil && !errors.Is(err, io.EOF) {
		return guardSlot{}, err
	}
	if n < len(sectors) {
		return guardSlot{}, fmt.Errorf("%w: the tail guard is too short", ErrDamaged)
	}
	valid := 0
	for i := range 2 {
		sector := sectors[i*sectorBytes : (i+1)*sectorBytes]
		slot, cluster, ok := decodeSlot(sector, record)
		if !ok {
			continue
		}
		if cluster != g.cluster && !slices.Contains(former, cluster) {
			return guardSlot{}, fmt.Errorf("%w: the tail guard is of cluster %016x", ErrForeign, cluster)
		}
		valid++
		if slot.seq >= newest.seq {
			newest = slot
		}
	}
	if valid == 0 && !bytes.Equal(sectors[:], make([]byte, len(sectors))) {
		return guardSlot{}, fmt.Errorf("%w: both slots of tail guard record %d are unreadable", ErrDamaged, record)
	}
	return newest, nil
}

func appendSlot(dst []byte, cluster uint64, record int, s *guardSlot) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, guardMagic)
	dst = append(dst, guardVersion, byte(len(s.record.vote)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(record))
	dst = binary.BigEndian.AppendUint64(dst, cluster)
	dst = binary.BigEndian.AppendUint64(dst, s.seq)
	dst = binary.BigEndian.AppendUint64(dst, s.record.term)
	dst = binary.BigEndian.AppendUint64(dst, s.record.voteTerm)
	dst = binary.BigEndian.AppendUint64(dst, s.record.lastIndex)
	dst = binary.BigEndian.AppendUint64(dst, s.record.commit)
	dst = append(dst, s.record.vote...)
	dst = append(dst, make([]byte, start+sectorBytes-4-len(dst))...)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

func decodeSlot(b []byte, record int) (s guardSlot, cluster uint64, ok bool) {
	body, sum := b[:sectorBytes-4], binary.BigEndian.Uint32(b[sectorBytes-4:])
	if crc32.Checksum(body, castagnoli) != sum || binary.BigEndian.Uint32(body) != guardMagic ||
		body[4] != guardVersion || int(binary.BigEndian.Uint16(body[6:])) != record {
		return guardSlot{}, 0, false
	}
	s.seq = binary.BigEndian.Uint64(body[16:])
	s.record = guardRecord{
		term:      binary.BigEndian.Uint64(body[24:]),
		voteTerm:  binary.BigEndian.Uint64(body[32:]),
		lastIndex: binary.BigEndian.Uint64(body[40:]),
		commit:    binary.BigEndian.Uint64(body[48:]),
		vote:      bytes.Clone(body[guardHeadBytes : guardHeadBytes+int(body[5])]),
	}
	return s, binary.BigEndian.Uint64(body[8:]), true
}

// record returns the record as it was last read or written.
func (g *guard) record(record int) guardRecord {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.slots[record].record
}

// post hands a record to the writer and returns a ticket for wait. A newer post of the same record replaces it.
func (g *guard) post(record int, r guardRecord) (ticket uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending[record] = r
	g.posted++
	g.changed.Broadcast()
	return g.posted
}

// wait returns when everything up to the ticket is durable, or with the error of the writer.
func (g *guard) wait(ticket uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.synced < ticket && g.err == nil {
		g.changed.Wait()
	}
	return g.err
}

func (g *guard) run() {
	defer close(g.done)
	for {
		batch, ticket := g.nextBatch()
		if batch == nil {
			return
		}
		err := g.write(batch)
		g.mu.Lock()
		g.synced, g.err = ticket, err
		g.syncs++
		g.changed.Broadcast()
		g.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// nextBatch waits for posts and returns them as slots to write, or nil when the guard is closed and everything is
// written.
func (g *guard) nextBatch() (map[int]guardSlot, uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.pending) == 0 && !g.closed {
		g.changed.Wait()
	}
	if len(g.pending) == 0 {
		return nil, 0
	}
	batch := make(map[int]guardSlot, len(g.pending))
	for record, r := range g.pending {
		slot := guardSlot{seq: g.slots[record].seq + 1, record: r}
		g.slots[record], batch[record] = slot, slot
	}
	clear(g.pending)
	return batch, g.posted
}

func (g *guard) write(batch map[int]guardSlot) error {
	var sector []byte
	for record, slot := range batch {
		sector = appendSlot(sector[:0], g.cluster, record, &slot)
		offset := int64(record*2+int(slot.seq%2)) * sectorBytes
		if _, err := g.file.WriteAt(sector, offset); err != nil {
			return err
		}
	}
	return g.file.SyncData()
}

// close writes what is pending and closes the file.
func (g *guard) close() error {
	g.mu.Lock()
	g.closed = true
	g.changed.Broadcast()
	g.mu.Unlock()
	<-g.done
	return errors.Join(g.err, g.file.Close())
}
