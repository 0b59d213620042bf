// Package pebblelog keeps the Raft log and the votes of all groups of a node in one Pebble database that is always
// synced. A tail guard beside it notices when the database lost its newest writes, so that a node that forgot what it
// acknowledged does not vote. DESIGN.md says why.
package pebblelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/fatal"
)

// Errors that keep a node from voting. They are wrapped with the details.
var (
	// ErrDamaged means that the log or its guard lost or changed something that it had acknowledged.
	ErrDamaged = errors.New("the raft log is damaged")
	// ErrForeign means that the directory holds files of another cluster.
	ErrForeign = errors.New("the data directory belongs to another cluster")
)

// Options are the settings of Open.
type Options struct {
	FS         vfs.FS
	Dir        string // Directory of the database. REQUIRES: it and WALDir exist durably.
	WALDir     string // Directory of the write-ahead log. [Dir]
	GuardPath  string
	ClusterID  uint64
	Former     []uint64 // Ids that the cluster had before; files that carry them are accepted.
	Groups     []uint16
	Cache      *pebble.Cache
	TailBytes  int // BOUND: bytes of cached decoded entries, all groups together.
	Logger     fatal.Logger
	Exit       *fatal.Exit
	Watchdog   *fatal.Watchdog
	CallLimit  time.Duration // Longest storage call; a longer one ends the process.
	OpenFiles  int           // Table files that are kept open. [Pebble's default]
	AcceptLoss bool          // Accept the log as it is and write a new guard, where Check would refuse.
}

// DB is the log database of a node. Group returns the raft.LogStore and raft.StableStore of each group.
//
// One Pebble for many groups: one fsync serves every group that waits; a database per group would multiply them. Two
// settings are not Pebble's defaults: the newest format, whose write-ahead log marks how far it was synced, and a
// second opening of a new database before its first use, because the first log file predates the format.
type DB struct {
	o      Options
	db     handle
	guard  *guard
	logs   map[uint16]*Log
	events fatal.Events
}

const (
	nameCluster = "cluster"
	nameEpoch   = "epoch"
	nameFirst   = "first"
	nameLast    = "last"
)

// Open opens or creates the log of the cluster and its guard. It returns ErrDamaged when the database or the guard
// cannot be opened or lost data, ErrForeign when they belong to another cluster, or the error of the file system. Check
// must pass for each group before Raft uses it.
func Open(o Options) (*DB, error) {
	d := &DB{o: o, logs: map[uint16]*Log{}}
	if err := d.open(); err != nil {
		return nil, err
	}
	if err := d.load(); err != nil {
		return nil, errors.Join(err, d.db.p.Close())
	}
	return d, nil
}

func (d *DB) pebbleOptions() *pebble.Options {
	p := &pebble.Options{
		FS:                    d.o.FS,
		Cache:                 d.o.Cache,
		FormatMajorVersion:    pebble.FormatNewest,
		Logger:                d.o.Logger,
		EventListener:         d.o.Logger.Listener(&d.events, d.o.CallLimit),
		MemTableSize:          16 << 20, // Small, so that log files are soon recycled: an append that extends one is ten times slower.
		L0CompactionThreshold: 4,
		FlushDelayDeleteRange: 10 * time.Second,
		WALDir:                d.o.WALDir,
		MaxOpenFiles:          d.o.OpenFiles,
	}
	for i := range p.Levels {
		if i <= 4 {
			p.Levels[i].Compression = func() *block.CompressionProfile { return block.NoCompression }
		}
	}
	if vfs.Root(d.o.FS) == vfs.Default {
		p.WithFSDefaults() // Disk health checks; they need real time and real files.
	}
	return p
}

func (d *DB) open() (err error) {
	if d.db.p, err = pebble.Open(d.o.Dir, d.pebbleOptions()); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	_, found, err := d.db.get(nameKey(spaceMeta, nodeGroup, nameCluster))
	if err != nil || found {
		return err
	}
	if err := d.db.p.Close(); err != nil {
		return err
	}
	d.db.p, err = pebble.Open(d.o.Dir, d.pebbleOptions())
	return err
}

// load compares identities, reads the bounds of every group and opens the guard.
func (d *DB) load() error {
	pristine := true
	for _, group := range d.o.Groups {
		l, err := d.openLog(group)
		if err != nil {
			return err
		}
		d.logs[group] = l
		pristine = pristine && l.pristine()
	}
	if err := d.checkCluster(); err != nil {
		return err
	}
	if _, err := d.o.FS.Stat(d.o.GuardPath); err != nil {
		if !pristine && !d.o.AcceptLoss {
			return fmt.Errorf("%w: the tail guard %s is missing", ErrDamaged, d.o.GuardPath)
		}
		if err := createGuard(d.o.FS, d.o.GuardPath, d.o.Groups); err != nil {
			return err
		}
	}
	g, err := openGuard(d.o.FS, d.o.GuardPath, d.o.ClusterID, d.o.Former, d.o.Groups)
	if err != nil && d.o.AcceptLoss && errors.Is(err, ErrDamaged) {
		if err = createGuard(d.o.FS, d.o.GuardPath, d.o.Groups); err == nil {
			g, err = openGuard(d.o.FS, d.o.GuardPath, d.o.ClusterID, d.o.Former, d.o.Groups)
		}
	}
	if err != nil {
		return err
	}
	d.guard = g
	for _, l := range d.logs {
		l.guard, l.guarded = g, g.record(groupRecord(l.group))
		l.durable = l.guarded.lastIndex
	}
	return nil
}

// checkCluster compares the cluster id of node and groups with the configured one, or writes it into an empty database.
func (d *DB) checkCluster() error {
	b := d.db.batch()
	for _, group := range append(slices.Clone(d.o.Groups), nodeGroup) {
		key := nameKey(spaceMeta, group, nameCluster)
		value, found, err := d.db.get(key)
		switch {
		case err != nil:
			return errors.Join(err, b.Close())
		case found && len(value) == 8 && slices.Contains(d.o.Former, binary.BigEndian.Uint64(value)):
		case found && (len(value) != 8 || binary.BigEndian.Uint64(value) != d.o.ClusterID):
			return errors.Join(fmt.Errorf("%w: raftlog is of cluster %x, this node of %016x", ErrForeign, value, d.o.ClusterID), b.Close())
		case found:
			continue
		case group != nodeGroup && !d.logs[group].pristine():
			return errors.Join(fmt.Errorf("%w: group %d has entries but no cluster id", ErrDamaged, group), b.Close())
		}
		if err := b.Set(key, binary.BigEndian.AppendUint64(nil, d.o.ClusterID), nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	if b.Empty() {
		return b.Close()
	}
	return d.db.commit(b)
}

// NextEpoch counts a start of this node, durably, in the database and in the guard, and returns the count.
func (d *DB) NextEpoch() (uint32, error) { return d.EpochAfter(0) }

// EpochAfter is NextEpoch with a result greater than floor.
func (d *DB) EpochAfter(floor uint32) (uint32, error) {
	key := nameKey(spaceMeta, nodeGroup, nameEpoch)
	value, found, err := d.db.get(key)
	if err != nil {
		return 0, err
	}
	node := d.guard.record(nodeRecord)
	epoch := node.lastIndex
	if found {
		if len(value) != 8 {
			return 0, fmt.Errorf("%w: the start counter has %d bytes", ErrDamaged, len(value))
		}
		epoch = max(epoch, binary.BigEndian.Uint64(value))
	}
	epoch = max(epoch, uint64(floor)) + 1
	b := d.db.batch()
	if err := b.Set(key, binary.BigEndian.AppendUint64(nil, epoch), nil); err != nil {
		return 0, errors.Join(err, b.Close())
	}
	if err := d.db.commit(b); err != nil {
		return 0, err
	}
	node.lastIndex = epoch
	return uint32(epoch), d.guard.wait(d.guard.post(nodeRecord, node))
}

// Group returns the log of one of the groups given to Open, nil for others.
func (d *DB) Group(group uint16) *Log { return d.logs[group] }

// Metrics returns Pebble's own figures.
func (d *DB) Metrics() *pebble.Metrics { return d.db.p.Metrics() }

// Events returns what Pebble reported about its disk.
func (d *DB) Events() *fatal.Events { return &d.events }

// GuardSyncs counts the syncs of the tail guard.
func (d *DB) GuardSyncs() uint64 {
	d.guard.mu.Lock()
	defer d.guard.mu.Unlock()
	return d.guard.syncs
}

// Close writes the exact end of every log into the guard and closes the database. REQUIRES: Raft has stopped.
func (d *DB) Close() error {
	for _, l := range d.logs {
		l.finishGuard()
	}
	return errors.Join(d.guard.close(), d.db.p.Close())
}
