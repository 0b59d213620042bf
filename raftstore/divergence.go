package raftstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/durable"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// evaluate compares the known digests of a check, and ends the process when this node is the one that differs.
func (a *stateChecks) evaluate(group uint16, index uint64) {
	servers := a.store.groups[group].servers()
	a.mu.Lock()
	c := a.findOrAdd(group, index)
	if !c.applied {
		a.mu.Unlock()
		return
	}
	v := c.tally(servers, a.store.c.NodeID)
	agreed := v.decided && v.majority == c.digest && !c.countedAgreed
	differs := v.different && (v.decided || v.complete) && !c.countedDiffers
	c.countedAgreed, c.countedDiffers = c.countedAgreed || agreed, c.countedDiffers || differs
	a.mu.Unlock()
	if agreed {
		a.agreed.Add(1)
	}
	if !differs {
		return
	}
	a.mismatches.Add(1)
	logger := a.store.c.Logger.With(slog.Int("group", int(group)), slog.Uint64("index", index),
		slog.String("digest", digestText(c.digest)), slog.Int("digests", len(v.votes)))
	switch {
	case !v.decided:
		logger.Error("replica_states_differ", slog.Bool("majority", false), slog.String("action", "compare the replicas before more is written"))
	case v.majority == c.digest:
		logger.Error("replica_states_differ", slog.Bool("majority", true), slog.String("action", "none here: the replica that differs ends its process"))
	default:
		a.store.halt(divergence{Group: group, Index: index, Digest: digestText(c.digest), Majority: digestText(v.majority)})
	}
}

// digestTally is the result of counting the digests of a check.
type digestTally struct {
	votes     map[uint64]int // Voters by digest.
	majority  uint64         // The digest of more than half of the voters, when decided.
	decided   bool
	complete  bool // The digests of all voters are known.
	different bool // Some member, possibly a learner, differs from this node.
}

// tally counts the digests of the voters. REQUIRES: this node has applied the check.
func (c *check) tally(servers raft.Configuration, self string) digestTally {
	v := digestTally{votes: map[uint64]int{}}
	counted, seen := 0, map[string]bool{}
	for _, server := range servers.Servers {
		if seen[transport.NodeOf(server.ID)] { // Another incarnation: a node counts once.
			continue
		}
		seen[transport.NodeOf(server.ID)] = true
		digest, known := c.peerDigests[transport.NodeOf(server.ID)]
		if transport.NodeOf(server.ID) == self {
			digest, known = c.digest, true
		}
		if !known {
			continue
		}
		v.different = v.different || digest != c.digest
		if server.Suffrage == raft.Voter {
			v.votes[digest]++
			counted++
		}
	}
	all := membership.Voters(servers)
	v.complete = counted == all
	for digest, n := range v.votes {
		if n > all/2 {
			v.majority, v.decided = digest, true
		}
	}
	return v
}

// digestText is a digest as logs and diverged.json have it.
func digestText(digest uint64) string { return fmt.Sprintf("%016x", digest) }

// divergence is the content of diverged.json: why this directory must not be used any more.
type divergence struct {
	Group    uint16 `json:"group"`
	Index    uint64 `json:"index"`
	Digest   string `json:"digest"`
	Majority string `json:"majority"`
}

// halt marks the directory and ends the process.
func (s *Store) halt(d divergence) {
	b, err := json.MarshalIndent(d, "", "  ")
	if err == nil {
		err = durable.WriteFile(s.c.FS, s.c.Dir, divergedTmp, divergedName, append(b, '\n'))
	}
	if err != nil { // The next check after a restart finds the difference again.
		s.c.Logger.Error("divergence_mark_failed", slog.Any("err", err))
	}
	const advice = "memory, disk or program made an error: check the machine, empty the directory, and the node joins again as a new one"
	s.exit.NowWithAdvice("this node's state differs from that of the majority", advice, fmt.Errorf(
		"%w: group %d at entry %d: digest %s, the majority has %s", ErrDiverged, d.Group, d.Index, d.Digest, d.Majority))
}

// checkDiverged refuses a directory that halt marked.
func checkDiverged(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, divergedName)
	_, err := fs.Stat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s says where", ErrDiverged, path)
	case errors.Is(err, os.ErrNotExist):
		return nil
	}
	return err
}
