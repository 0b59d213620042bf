package raftstore

import (
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

// ClusterStatus is the cluster as this node knows it.
type ClusterStatus struct {
	ID     uint64 // Random; chosen when the cluster was founded, restored or recovered.
	Node   string // Id of this node.
	Nodes  []NodeStatus
	Groups []GroupLeader
}

// NodeStatus is a member as this node sees it.
type NodeStatus struct {
	ID      string
	Address string
	Voter   bool // It is a voter in every group that it is a member of.
	// Reachable says that the node and this one exchanged a message lately; LastContact is when. A node that leads no
	// group exchanges messages with leaders only.
	Reachable   bool
	LastContact time.Time
}

// GroupLeader is the leader of a group. An empty Leader means that this node knows none.
type GroupLeader struct {
	Group  uint16
	Leader string
	Term   uint64
}

// reachableFor is the largest age of the last contact with a node that counts as reachable: several heartbeats.
const reachableFor = 2 * time.Second

// Cluster reports on members and leaders, as of this node's newest configurations. It asks no other node. REQUIRES: the
// store is open.
func (s *Store) Cluster() ClusterStatus {
	c := ClusterStatus{ID: s.cluster, Node: s.c.NodeID}
	seen := map[string]int{}
	for _, id := range s.c.Groups {
		g := s.groups[id]
		leader := g.Leader()
		c.Groups = append(c.Groups, GroupLeader{Group: id, Leader: leader, Term: g.raft.CurrentTerm()})
		contact, _ := g.safe.LeaderContact()
		for _, server := range g.servers().Servers {
			node := transport.NodeOf(server.ID)
			at, known := seen[node]
			if !known {
				at = len(c.Nodes)
				seen[node] = at
				c.Nodes = append(c.Nodes, NodeStatus{ID: node, Address: string(server.Address), Voter: true})
			}
			n := &c.Nodes[at]
			n.Voter = n.Voter && server.Suffrage == raft.Voter
			last := g.safe.PeerContact(server.ID)
			if node == leader && contact.After(last) {
				last = contact
			}
			if node == s.c.NodeID {
				last = time.Now()
			}
			if last.After(n.LastContact) {
				n.LastContact = last
			}
			n.Reachable = !n.LastContact.IsZero() && time.Since(n.LastContact) < reachableFor
		}
	}
	return c
}

// nodeInfo returns what Config.NodeInfo returns, or nil when that is too large.
func (s *Store) nodeInfo() []byte {
	if s.c.NodeInfo == nil {
		return nil
	}
	b := s.c.NodeInfo()
	if len(b) > NodeInfoBytesMax {
		s.c.Logger.Error("node_info_too_large", slog.Bool("omitted", true), slog.Int("bytes", len(b)), slog.Int("bytes_max", NodeInfoBytesMax))
		return nil
	}
	return b
}
