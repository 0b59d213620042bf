package fsck

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// directory is an opened data directory. Both databases are opened read-only.
type directory struct {
	fs       vfs.FS
	dir      string
	identity identity
	lock     io.Closer
	state    *pebble.DB
	log      *pebble.DB
}

type identity struct {
	Cluster string   `json:"cluster"`
	Node    string   `json:"node"`
	Groups  []uint16 `json:"groups"`
	Former  []string `json:"former"` // Ids before a recovery, which older snapshots still have.
}

// is reports whether an id is or was that of the cluster.
func (i *identity) is(cluster uint64) bool {
	text := fmt.Sprintf("%016x", cluster)
	return text == i.Cluster || slices.Contains(i.Former, text)
}

func openDirectory(fs vfs.FS, dir string) (*directory, error) {
	d := &directory{fs: fs, dir: dir}
	b, err := readFile(fs, fs.PathJoin(dir, "cluster.json"))
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not the data directory of a node: %w", ErrUnreadable, dir, err)
	}
	if err := json.Unmarshal(b, &d.identity); err != nil {
		return nil, fmt.Errorf("%w: cluster.json: %w", ErrUnreadable, err)
	}
	if d.lock, err = fs.Lock(fs.PathJoin(dir, "LOCK")); err != nil {
		return nil, fmt.Errorf("%w (%s: %w)", ErrInUse, dir, err)
	}
	d.log, err = openDB(fs, fs.PathJoin(dir, "raftlog"))
	if err == nil {
		d.state, err = openDB(fs, fs.PathJoin(dir, "state"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnreadable, err), d.close())
	}
	return d, nil
}

func openDB(fs vfs.FS, dir string) (*pebble.DB, error) {
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, ReadOnly: true, Logger: silentLogger{}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fs.PathBase(dir), err)
	}
	return db, nil
}

// silentLogger keeps Pebble from writing to standard error. Every error is also returned by the call that caused it.
// Fatalf panics, which loses nothing, because the database is read-only.
type silentLogger struct{}

func (silentLogger) Infof(string, ...any)  {}
func (silentLogger) Errorf(string, ...any) {}
func (silentLogger) Fatalf(format string, args ...any) {
	panic("audit: " + fmt.Sprintf(format, args...))
}

func (d *directory) close() error {
	var errs []error
	for _, db := range []*pebble.DB{d.state, d.log} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, d.lock.Close())...)
}

func readFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// source calls fn for the records of a group's state with keys in [from, to), in ascending order. It can be called
// several times. OWNERSHIP: key and value are valid until fn returns.
type source func(from, to []byte, fn func(key, value []byte)) error

// Parts of the state database, the byte after the group's number.
const (
	spaceApplied = 0x00
	spaceState   = 0x01
)

func groupPrefix(id uint16, space byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, id), space)
}

func (d *directory) stateOf(id uint16) source {
	prefix := groupPrefix(id, spaceState)
	return func(from, to []byte, fn func(key, value []byte)) error {
		return scan(d.state, slices.Concat(prefix, from), slices.Concat(prefix, to), func(key, value []byte) bool {
			fn(key[len(prefix):], value)
			return true
		})
	}
}

// scan calls fn for the keys in [from, to) until it returns false.
func scan(db *pebble.DB, from, to []byte, fn func(key, value []byte) bool) error {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if !fn(it.Key(), value) {
			break
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// applied is the last entry that a state contains.
type applied struct {
	index, term, digest uint64
}

const appliedBytes = 1 + 3*8 + 4

// readApplied reads the record that the replication stores with the state: version 1, three numbers and a checksum,
// big-endian.
func (d *directory) readApplied(r *Report, id uint16) (a applied) {
	place := fmt.Sprintf("group %d, applied record", id)
	value, closer, err := d.state.Get(append(groupPrefix(id, spaceApplied), 'A'))
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return a // Nothing was applied yet.
	case err != nil:
		r.problem(place, "%v", err)
		return a
	}
	a, ok := decodeApplied(value)
	if err := closer.Close(); err != nil || !ok {
		r.problem(place, "cannot be decoded")
	}
	return a
}

func decodeApplied(b []byte) (a applied, ok bool) {
	if len(b) != appliedBytes || b[0] != 1 ||
		binary.BigEndian.Uint32(b[appliedBytes-4:]) != crc32.Checksum(b[:appliedBytes-4], castagnoli) {
		return applied{}, false
	}
	return applied{binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:]), binary.BigEndian.Uint64(b[17:])}, true
}

// unknownKeys reports keys that belong to no group of this node. It seeks from one part of the database to the next.
func (d *directory) unknownKeys(r *Report) {
	for from := []byte{0}; from != nil; {
		var at []byte
		err := scan(d.state, from, []byte{0xff, 0xff, 0xff}, func(key, _ []byte) bool {
			at = slices.Clone(key)
			return false
		})
		switch {
		case err != nil:
			r.problem("state", "%v", err)
			return
		case at == nil:
			return
		case len(at) < 4 || at[2] > spaceState || !slices.Contains(d.identity.Groups, binary.BigEndian.Uint16(at)):
			r.problem(fmt.Sprintf("state, key %x", at), "belongs to no group of this node")
			at = append(at, 0)
			from = at
		default:
			from = groupPrefix(binary.BigEndian.Uint16(at), at[2]+1)
		}
	}
}
