// Package statedb keeps the applied state of all groups of a node in one Pebble database without a write-ahead log: the
// Raft log takes its place. Every applied batch is one write that contains the index it brings the state to.
package statedb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/fatal"
)

// memTableBytes is large because only a full memtable and a snapshot write to disk.
const memTableBytes = 32 << 20

// bloomBitsPerKey gives 1% false positives: most lookups of a duplicate key ask for one that is not there.
const bloomBitsPerKey = 10

// Options are the settings of Open.
type Options struct {
	FS        vfs.FS
	Dir       string // REQUIRES: it exists durably.
	Cache     *pebble.Cache
	Logger    fatal.Logger
	Exit      *fatal.Exit
	CallLimit time.Duration // Longest disk operation; a longer one ends the process.
	OpenFiles int           // Table files that are kept open. [Pebble's default]
}

// DB is the state database of a node.
//
// It has no write-ahead log, so every write is unsynced and cheap. Memtables are flushed in order and a batch never
// straddles two of them: after a crash the state is an exact prefix of the applied batches, and the index inside it
// says which. Raft replays the rest. Unlike the log database it is not reopened after its creation: that protects the
// first write-ahead log.
//
// INVARIANT: Raft deletes log entries only after a snapshot, and writing a snapshot begins with Flush.
type DB struct {
	p       *pebble.DB
	exit    *fatal.Exit
	events  fatal.Events
	full    chan struct{}   // Holds one element after Pebble reported a full disk.
	pending <-chan struct{} // Closed when the last flush that was begun ends; nil: none is under way.
}

// Open opens or creates the database. An error means that the state cannot be opened; deleting the directory is the
// repair, because snapshot and log rebuild the state.
func Open(o Options) (*DB, error) {
	d := &DB{exit: o.Exit, full: make(chan struct{}, 1)}
	p := &pebble.Options{
		FS:                    o.FS,
		Cache:                 o.Cache,
		DisableWAL:            true,
		FormatMajorVersion:    pebble.FormatNewest,
		Logger:                o.Logger,
		EventListener:         d.listener(&o),
		MemTableSize:          memTableBytes,
		MaxOpenFiles:          o.OpenFiles,
		FlushDelayDeleteRange: 10 * time.Second,
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
	}
	if vfs.Root(o.FS) == vfs.Default {
		p.WithFSDefaults() // Disk health checks; they need real time and real files.
	}
	var err error
	if d.p, err = pebble.Open(o.Dir, p); err != nil {
		return nil, fmt.Errorf("the state database %s cannot be opened; delete it, and snapshot and log rebuild it: %w", o.Dir, err)
	}
	return d, nil
}

// listener is the logger's, and also signals full.
func (d *DB) listener(o *Options) *pebble.EventListener {
	l := o.Logger.Listener(&d.events, o.CallLimit)
	log := l.BackgroundError
	l.BackgroundError = func(err error) {
		log(err)
		if vfs.IsNoSpaceError(err) {
			select {
			case d.full <- struct{}{}:
			default:
			}
		}
	}
	return l
}

// ErrFull means that a flush found no space. Pebble repeats it until there is some.
var ErrFull = errors.New("the state cannot be flushed: the disk is full")

// ErrStopped means that the wait for a flush was stopped.
var ErrStopped = errors.New("the wait for a flush of the state was stopped")

// Flush makes everything applied so far durable. It returns ErrFull instead of waiting for space, and ErrStopped once
// stop is closed; a nil stop never is. While a flush is under way no second one is begun: each one takes a memtable out
// of use, and without any there is no write. What remains: when 64 MiB of state changes wait for a flush, Pebble stops
// writes, and only space or the end of the process frees the goroutine that waits in one.
//
// REQUIRES: one call at a time.
func (d *DB) Flush(stop <-chan struct{}) error {
	if err := d.waitFlush(stop); err != nil {
		return err
	}
	var err error
	if d.pending, err = d.p.AsyncFlush(); err != nil {
		return err
	}
	return d.waitFlush(stop)
}

// waitFlush waits for the flush that was begun, if there is one.
func (d *DB) waitFlush(stop <-chan struct{}) error {
	if d.pending == nil {
		return nil
	}
	select {
	case <-d.full: // It was signalled before, perhaps by another write.
	default:
	}
	select {
	case <-d.pending:
		d.pending = nil
		return nil
	case <-d.full:
		return ErrFull
	case <-stop:
		return ErrStopped
	}
}

// MemoryBytes is the most that a flush would write now, in bytes.
func (d *DB) MemoryBytes() uint64 { return d.p.Metrics().MemTable.Size }

// Metrics returns Pebble's own figures.
func (d *DB) Metrics() *pebble.Metrics { return d.p.Metrics() }

// Events returns what Pebble reported about its disk.
func (d *DB) Events() *fatal.Events { return &d.events }

// Close flushes and closes the database. What finds no space is not written, as by CloseUnflushed.
func (d *DB) Close() error {
	err := d.Flush(nil)
	if errors.Is(err, ErrFull) {
		err = nil
	}
	return errors.Join(err, d.CloseUnflushed())
}

// CloseUnflushed closes the database without the changes that are only in memory; the Raft log restores them. It is for
// a disk that has no room for a flush. So it is no failure if there is no room for the end of Pebble's own log either,
// which is empty.
func (d *DB) CloseUnflushed() error {
	err := d.p.Close()
	if vfs.IsNoSpaceError(err) {
		return nil
	}
	return err
}

// mustRead ends the process after a failed read: a state that cannot be read must not be guessed.
func (d *DB) mustRead(err error) {
	if err != nil {
		d.exit.Now("state cannot be read", err)
	}
}

// Applied says how far the state of a group has come.
type Applied struct {
	Index  uint64 // Index of the last Raft entry in the state.
	Term   uint64
	Digest uint64 // The machine's hash of the state.
}

const (
	spaceMeta    = 0x00 // Keys of this package.
	spaceMachine = 0x01 // The state machine's keys.

	appliedVersion = 1
	appliedBytes   = 1 + 3*8 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Group is the state of one group: the range of keys that begin with its number.
type Group struct {
	db     *DB
	id     uint16
	prefix []byte // The prefix of the machine's keys.
}

// Group returns the state of a group.
func (d *DB) Group(id uint16) *Group {
	return &Group{db: d, id: id, prefix: append(groupPrefix(id), spaceMachine)}
}

func groupPrefix(id uint16) []byte { return binary.BigEndian.AppendUint16(nil, id) }

func (g *Group) appliedKey() []byte { return append(groupPrefix(g.id), spaceMeta, 'A') }

// bounds returns the whole range of the group.
func (g *Group) bounds() (from, to []byte) {
	return groupPrefix(g.id), append(groupPrefix(g.id), 0xFF)
}

func appendApplied(dst []byte, a Applied) []byte {
	start := len(dst)
	dst = append(dst, appliedVersion)
	dst = binary.BigEndian.AppendUint64(dst, a.Index)
	dst = binary.BigEndian.AppendUint64(dst, a.Term)
	dst = binary.BigEndian.AppendUint64(dst, a.Digest)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

func decodeApplied(b []byte) (a Applied, err error) {
	if len(b) != appliedBytes || b[0] != appliedVersion ||
		binary.BigEndian.Uint32(b[appliedBytes-4:]) != crc32.Checksum(b[:appliedBytes-4], castagnoli) {
		return Applied{}, errors.New("the applied record of the state cannot be decoded")
	}
	return Applied{
		Index: binary.BigEndian.Uint64(b[1:]), Term: binary.BigEndian.Uint64(b[9:]), Digest: binary.BigEndian.Uint64(b[17:]),
	}, nil
}

// Applied reads the applied record; found is false for an empty group. It fails when the record cannot be read or
// decoded.
func (g *Group) Applied() (a Applied, found bool, err error) { return g.appliedIn(g.db.p) }

func (g *Group) appliedIn(r pebble.Reader) (a Applied, found bool, err error) {
	v, closer, err := r.Get(g.appliedKey())
	if errors.Is(err, pebble.ErrNotFound) {
		return Applied{}, false, nil
	}
	if err != nil {
		return Applied{}, false, err
	}
	a, err = decodeApplied(v)
	return a, err == nil, errors.Join(err, closer.Close())
}

// DiskBytes estimates the size of the group's state on disk, where it is compressed.
func (g *Group) DiskBytes() (uint64, error) {
	from, to := g.bounds()
	return g.db.p.EstimateDiskUsage(from, to)
}

// Wipe deletes the state of the group, the applied record included. The deletion is not synced.
func (g *Group) Wipe() error {
	from, to := g.bounds()
	return g.db.p.DeleteRange(from, to, pebble.NoSync)
}

// Snapshot is the state of a group at one moment, readable beside new batches.
type Snapshot struct {
	*Reader
	group *Group
	p     *pebble.Snapshot
}

// Snapshot returns the state as it is now. It takes microseconds. The caller must Close it.
func (g *Group) Snapshot() *Snapshot {
	p := g.db.p.NewSnapshot()
	return &Snapshot{Reader: g.newReader(p), group: g, p: p}
}

// Applied is the applied record at that moment.
func (s *Snapshot) Applied() (Applied, bool, error) { return s.group.appliedIn(s.p) }

// Each calls fn for every key of the machine, in order, until it fails.
func (s *Snapshot) Each(fn func(key, value []byte) error) (err error) {
	s.group.db.mustRead(s.each(s.group.prefix, append(groupPrefix(s.group.id), spaceMachine+1), func(key, value []byte) bool {
		err = fn(key, value)
		return err == nil
	}))
	return err
}

// Close releases the snapshot.
func (s *Snapshot) Close() error {
	return s.p.Close()
}
