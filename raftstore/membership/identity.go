package membership

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/durable"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// IdentityName is the file of the identity in the data directory.
	IdentityName = "cluster.json"
	// IdentityTmp is the name under which a new identity is written first.
	IdentityTmp = "cluster.json.tmp"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Identity is the content of cluster.json: the cluster, node and incarnation that own the directory. It is written
// before anything else, and once more when a cluster that was being founded exists.
type Identity struct {
	Cluster string        `json:"cluster"` // 16 hex digits, random.
	Node    string        `json:"node"`
	Server  raft.ServerID `json:"server,omitempty"` // The incarnation of the node. Old directories have none: there it is the node's id.
	Groups  []uint16      `json:"groups"`           // Sorted.

	Voters  []Voter `json:"voters,omitempty"`  // The first voters, when several nodes founded the cluster.
	Pending bool    `json:"pending,omitempty"` // The cluster may not exist, because the founder may not have written it; see Founding.
	Joined  bool    `json:"joined,omitempty"`  // The cluster is older than the directory, which gets everything from its leaders.
	Via     string  `json:"via,omitempty"`     // Address of the member through which the node joined; it need not be a seed.

	Former []string `json:"former,omitempty"` // Cluster ids before RecoverQuorum; log and snapshots may still carry them.

	// CRC is the checksum of all other fields as JSON, 8 hex digits; empty in old directories. The file names the
	// incarnation, and with one flipped bit in it a node would wait for ever.
	CRC string `json:"crc32c,omitempty"`
}

// sum is the checksum of all fields but CRC.
func (i Identity) sum() (string, error) {
	i.CRC = ""
	b, err := json.Marshal(i)
	return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)), err
}

// Voter is one of the first voters of a cluster.
type Voter struct {
	Server  raft.ServerID `json:"id"`
	Address string        `json:"address"`
}

// ClusterID returns Cluster as a number. It returns pebblelog.ErrDamaged when Cluster is none.
func (i Identity) ClusterID() (id uint64, err error) {
	if _, err := fmt.Sscanf(i.Cluster, "%016x", &id); err != nil || id == 0 {
		return 0, fmt.Errorf("%w: %s has no cluster id", pebblelog.ErrDamaged, IdentityName)
	}
	return id, nil
}

// LoadIdentity reads the identity of the directory and compares it with the configuration, or founds a cluster of one.
// It returns pebblelog.ErrDamaged for a file that is damaged or missing beside a Raft log, pebblelog.ErrForeign for
// that of another node or other groups, ErrNoCluster, or the error of the file system. ErrNoCluster means that the
// directory is empty and other nodes have to be asked first, if there are any.
func LoadIdentity(c Config) (i Identity, err error) {
	path := c.FS.PathJoin(c.Dir, IdentityName)
	groups := slices.Sorted(slices.Values(c.Groups))
	if _, err := c.FS.Stat(path); err != nil {
		if names, err := c.FS.List(c.FS.PathJoin(c.Dir, c.LogDir)); err == nil && len(names) > 0 {
			return i, fmt.Errorf("%w: %s is missing beside a raft log", pebblelog.ErrDamaged, IdentityName)
		}
		if c.Expect != 1 || len(c.Seeds) > 0 {
			return i, ErrNoCluster
		}
		i = Identity{Cluster: ClusterText(NewCluster()), Node: c.Node, Server: transport.NewIncarnation(c.Node), Groups: groups}
		return i, i.Write(c.FS, c.Dir)
	}
	if i, err = readIdentity(c.FS, path); err != nil {
		return i, err
	}
	if i.Node != c.Node {
		return i, fmt.Errorf("%w: %s is of node %q, not %q", pebblelog.ErrForeign, path, i.Node, c.Node)
	}
	if !c.AnyGroups && !slices.Equal(i.Groups, groups) {
		return i, fmt.Errorf("%w: the cluster was founded with groups %v, not %v, and they never change", pebblelog.ErrForeign, i.Groups, groups)
	}
	_, err = i.ClusterID()
	return i, err
}

// FormerIDs returns Former as numbers.
func (i Identity) FormerIDs() (ids []uint64) {
	for _, text := range i.Former {
		if id, err := (Identity{Cluster: text}).ClusterID(); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func readIdentity(fs vfs.FS, path string) (i Identity, err error) {
	b, err := durable.ReadFile(fs, path)
	if err != nil {
		return i, err
	}
	if err := json.Unmarshal(b, &i); err != nil {
		return i, fmt.Errorf("%w: %s cannot be read: %w", pebblelog.ErrDamaged, path, err)
	}
	if sum, err := i.sum(); err != nil || i.CRC != "" && sum != i.CRC {
		return i, errors.Join(fmt.Errorf("%w: %s fails its checksum", pebblelog.ErrDamaged, path), err)
	}
	if i.Server == "" {
		i.Server = raft.ServerID(i.Node)
	}
	return i, nil
}

// FoundedGroups returns the group ids that a directory was founded with, or none when it is empty. It returns
// ErrDamaged when cluster.json cannot be decoded or fails its checksum, or the error of the file system.
func FoundedGroups(fs vfs.FS, dir string) ([]uint16, error) {
	path := fs.PathJoin(dir, IdentityName)
	if _, err := fs.Stat(path); err != nil {
		return nil, nil //nolint:nilerr // Whether an empty directory may be founded is decided in Open.
	}
	i, err := readIdentity(fs, path)
	return i.Groups, err
}

// ClusterText returns a cluster id as Identity.Cluster has it.
func ClusterText(id uint64) string { return fmt.Sprintf("%016x", id) }

// NewCluster returns a random id, never 0.
func NewCluster() (id uint64) {
	var raw [8]byte
	for id == 0 {
		rand.Read(raw[:]) // Never fails.
		id = binary.BigEndian.Uint64(raw[:])
	}
	return id
}

// Write stores the identity durably: the directory then belongs to a member of the cluster. It returns the error of the
// file system.
func (i Identity) Write(fs vfs.FS, dir string) error {
	var err error
	if i.CRC, err = i.sum(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(fs, dir, IdentityTmp, IdentityName, append(b, '\n'))
}

// dropIdentity deletes the identity durably, so that the directory counts as empty. REQUIRES: its node never served.
func dropIdentity(c Config) error {
	return errors.Join(c.FS.Remove(c.FS.PathJoin(c.Dir, IdentityName)), durable.SyncDir(c.FS, c.Dir))
}
