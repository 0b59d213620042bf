package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/node/operator"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// nodeInfo returns what this node reports of itself, as JSON of operator.NodeInfo. Members request it from each other
// when an operator asks one of them for the state of the cluster.
func (n *node) nodeInfo() []byte {
	a := operator.NodeInfo{Version: n.version, Level: uint16(command.LevelNewest), NotReady: "the node is starting"}
	if !n.opened.Load() {
		return encodeNodeInfo(a)
	}
	a.NotReady = n.readiness()
	if s := n.raft.Space(); s.Watched {
		a.Disk = &operator.Disk{Free: s.Free, Total: s.Total, Reserve: s.Reserve, Low: s.Low}
	}
	for _, g := range n.raft.Status() {
		if len(a.Replicas) == operator.ReplicasMax {
			break
		}
		a.Replicas = append(a.Replicas, operator.ReplicaState{
			Group: g.Group, Commit: g.CommitIndex, Applied: g.Applied, Digest: fmt.Sprintf("%016x", g.Digest),
			ContactMillis:   contactMillis(&g, time.Now()),
			StalenessMillis: n.replicaAges.Age(ids.Group(g.Group)).Staleness.Milliseconds(),
		})
	}
	return encodeNodeInfo(a)
}

// contactMillis returns how many milliseconds ago the leader of a group last contacted this node: 0 on the leader
// itself, and operator.ContactMillisMax when it never did.
func contactMillis(g *raftstore.GroupStatus, now time.Time) int64 {
	switch {
	case g.State == "Leader":
		return 0
	case g.LastContact.IsZero():
		return operator.ContactMillisMax
	}
	return min(max(now.Sub(g.LastContact).Milliseconds(), 0), operator.ContactMillisMax)
}

// mayJoin decides by the node info of a node that wants to join whether it may become a member. It returns nil when it
// may, and otherwise cluster.Admits' reason.
func mayJoin(state raftstore.Reader, about []byte) error {
	var a operator.NodeInfo
	if err := json.Unmarshal(about, &a); err != nil {
		a = operator.NodeInfo{Version: "an older version"} // Its node info has another format.
	}
	return cluster.CheckJoin(shard.Queries{R: state}.FeatureLevel(), a.Version, command.Level(a.Level))
}

// levels returns how the cluster learns which feature levels nodes support and groups have reached.
func (n *node) levels() cluster.Levels {
	return cluster.Levels{
		Supported: func(ctx context.Context, node string) (command.Level, error) {
			var a operator.NodeInfo
			info, err := n.raft.NodeInfo(ctx, node)
			if err == nil {
				err = json.Unmarshal(info, &a)
			}
			return command.Level(a.Level), err
		},
		Reached: func(g ids.Group) (level command.Level, err error) {
			err = n.cluster.Read(g, func(r raftstore.Reader) error {
				level = shard.Queries{R: r}.FeatureLevel()
				return nil
			})
			return level, err
		},
	}
}

func encodeNodeInfo(a operator.NodeInfo) []byte {
	text, err := json.Marshal(a)
	if err != nil {
		panic("daemon: node info cannot be encoded as JSON: " + err.Error())
	}
	return text
}

// operations implements the operator API (node/operator) on a running node.
type operations struct{ *node }

// Status requests the node info of every member, of all at the same time, for at most operator.StatusTimeout. A member
// that does not answer is listed as unreachable with the error.
func (o operations) Status(ctx context.Context) operator.Status {
	known := o.raft.Cluster()
	s := operator.Status{ClusterID: fmt.Sprintf("%016x", known.ID), Node: known.Node, Nodes: make([]operator.Node, len(known.Nodes))}
	ctx, cancel := context.WithTimeout(ctx, operator.StatusTimeout)
	defer cancel()
	var all sync.WaitGroup
	for i, m := range known.Nodes {
		s.Nodes[i] = operator.Node{ID: m.ID, Voter: m.Voter}
		if raftstore.Dialable(m.Address) {
			s.Nodes[i].Address = m.Address
		}
		all.Go(func() { o.askNode(ctx, &s.Nodes[i]) })
	}
	all.Wait()
	slices.SortFunc(s.Nodes, func(a, b operator.Node) int { return compareNodeIDs(a.ID, b.ID) })
	s.Groups = make([]operator.Group, len(known.Groups))
	for i, g := range known.Groups {
		s.Groups[i] = group(s.Nodes, operator.Group{Group: g.Group, Leader: g.Leader, Term: g.Term})
	}
	return s
}

// askNode requests the node info of one member and stores it, or the error, in n.
func (o operations) askNode(ctx context.Context, n *operator.Node) {
	info, err := o.raft.NodeInfo(ctx, n.ID)
	if err == nil {
		err = json.Unmarshal(info, &n.NodeInfo)
	}
	n.Reachable = err == nil
	if err != nil {
		n.Error = err.Error()
	}
}

// group collects the replicas of a group from the info of all nodes, and records in each node by how many entries its
// slowest replica is behind. A group of which no node reported a replica has none, which is no null in JSON.
func group(nodes []operator.Node, g operator.Group) operator.Group {
	g.Replicas = []operator.Replica{}
	newest := uint64(0)
	for i := range nodes {
		for _, c := range nodes[i].Replicas {
			if c.Group == g.Group {
				newest = max(newest, c.Applied)
			}
		}
	}
	for i := range nodes {
		for _, c := range nodes[i].Replicas {
			if c.Group != g.Group {
				continue
			}
			lag := newest - c.Applied
			nodes[i].Lag = max(nodes[i].Lag, lag)
			g.Replicas = append(g.Replicas, operator.Replica{Node: nodes[i].ID, Lag: lag, ReplicaState: c})
		}
	}
	return g
}

// compareNodeIDs orders by length first, so that n2 comes before n10.
func compareNodeIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// Admit lets a node join the cluster as a non-voter. The error is operator.Refused when raftstore refuses for good.
func (o operations) Admit(ctx context.Context, node, address string) error {
	return operatorError(o.raft.Admit(ctx, node, address))
}

// Promote makes a non-voter a voter. Errors are those of Admit.
func (o operations) Promote(ctx context.Context, node string) error {
	return operatorError(o.raft.Promote(ctx, node))
}

// Remove takes a node out of the cluster. Errors are those of Admit.
func (o operations) Remove(ctx context.Context, node string) error {
	return operatorError(o.raft.Remove(ctx, node))
}

// Transfer moves the leadership of a group to a node. Errors are those of Admit.
func (o operations) Transfer(ctx context.Context, group uint16, node string) error {
	return operatorError(o.raft.Transfer(ctx, group, node))
}

// operatorError marks the errors that no repetition can mend as operator.Refused; the API answers those with 409.
func operatorError(err error) error {
	if errors.Is(err, raftstore.ErrRefused) {
		return operator.Refused(err)
	}
	return err
}

// Drain transfers what this node leads to other nodes and makes /readyz answer 503, as before a stop. A restart undoes
// it.
func (o operations) Drain(ctx context.Context) error {
	o.draining.Store(true)
	return o.raft.Drain(ctx)
}
