package raftstore

import (
	"errors"

	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// Errors of Propose and ReadBarrier. The first group means that the command was not applied and never will be.
// ErrUnknown means that it may be applied, so the caller repeats it with the same ids, never with new ones.
var (
	ErrNotLeader  = proposal.ErrNotLeader
	ErrOverloaded = proposal.ErrOverloaded
	ErrTooLarge   = proposal.ErrTooLarge
	ErrNoSpace    = proposal.ErrNoSpace
	ErrClosed     = proposal.ErrClosed

	ErrUnknown = proposal.ErrUnknown
)

// ErrRestoring means that a snapshot of another node is replacing the state of this node, so that there is nothing to
// read. It passes by itself.
var ErrRestoring = errors.New("the state of this node is being replaced by a snapshot")

// ErrRefused means that the cluster will not make a change of members or leaders, however often it is asked; the text
// is the reason. Any other error of such a change may pass, so the caller repeats the call.
var ErrRefused = membership.ErrRefused

// Errors of Open, OpenContext, RestoreBackup and RecoverQuorum. They are wrapped with the details.
var (
	// ErrDamaged means that the node lost something it had acknowledged. A single node is restored from a backup, or
	// started with Config.AcceptLoss; a member of a cluster is rebuilt from its peers.
	ErrDamaged = pebblelog.ErrDamaged
	// ErrDiverged means that this node's state once differed from that of the majority, which is a fault of memory,
	// disk or program. The directory must be emptied; the node then joins again as a new one.
	ErrDiverged = errors.New("the state of this directory differs from that of the cluster; empty the directory and let the node join again")
	// ErrUnfinished means that RestoreBackup or RecoverQuorum did not finish in this directory.
	ErrUnfinished = backup.ErrUnfinished
	// ErrNotEmpty means that a backup cannot be restored into the directory.
	ErrNotEmpty = errors.New("the directory is not empty")
	// ErrForeign means that the directory belongs to another cluster, node or set of groups.
	ErrForeign = pebblelog.ErrForeign
	// ErrNodeInUse means that another process of the cluster runs with this node's id: for an empty directory any such
	// process, for a directory with state one that runs on a copy of it (membership/duplicate.go).
	ErrNodeInUse = membership.ErrNodeInUse
	// ErrNoCluster means that the directory is empty, there are no seeds to ask, and Config.Expect does not allow to
	// found a cluster alone.
	ErrNoCluster = membership.ErrNoCluster
)
