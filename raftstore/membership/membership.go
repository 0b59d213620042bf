// Package membership decides which nodes belong to a cluster: it founds one from empty directories, joins one, keeps
// this node a member at its present address, and changes members as the leader of a group. A directory has one
// identity, which says of which cluster and which incarnation of a node it is.
package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/control"
	"github.com/gavel-ads/gavel/raftstore/proposal"
)

var (
	// ErrRefused means that the cluster will not make a change of members or leaders, however often it is asked; the
	// text is the reason. Any other error of such a change may pass, so the caller repeats the call.
	ErrRefused = errors.New("the cluster does not make this change")
	// ErrNodeInUse means that another process of the cluster runs with this node's id: for an empty directory any such
	// process, for a directory with state one that runs on a copy of it (duplicate.go).
	ErrNodeInUse = errors.New("another process runs with this node id")
	// ErrNoCluster means that the directory is empty, there are no seeds to ask, and Config.Expect does not allow to
	// found a cluster alone.
	ErrNoCluster = errors.New("the data directory is empty and no cluster may be founded")
)

// Reasons are the errors that a node names when it refuses; see control.Config.
var Reasons = []control.Reason{
	{Name: "refused", Error: ErrRefused}, {Name: "node_in_use", Error: ErrNodeInUse}, {Name: "not_leader", Error: proposal.ErrNotLeader},
}

// refusal is an ErrRefused whose text is the reason alone.
type refusal struct{ why error }

func (r refusal) Error() string   { return r.why.Error() }
func (r refusal) Unwrap() []error { return []error{ErrRefused, r.why} }

func refuse(format string, a ...any) error { return refusal{fmt.Errorf(format, a...)} }

// Config is what the configuration says about this node and its cluster. The fields that raftstore.Config has too are
// explained there.
type Config struct {
	FS     vfs.FS
	Dir    string // The data directory.
	LogDir string // The directory of the Raft log, as an element of Dir.
	Logger *slog.Logger

	Node      string
	Groups    []uint16
	AnyGroups bool
	Seeds     []string
	Expect    int
	Resolve   func(ctx context.Context, name string) (hosts []string, err error)

	HasPort    bool          // The node has a peer port.
	Learner    bool          // The node stays without a vote.
	JoinSettle time.Duration // How long a joining node must stay close behind its leader before it becomes a voter.
	NodeInfo   func() []byte // The Config.NodeInfo of this node, or nil when that is too large.
}
