package raftstore

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// ClusterStatus is what this node knows about its cluster.
type ClusterStatus struct {
	ID     uint64 // Random, given when the cluster was founded.
	Node   string // This node.
	Nodes  []NodeStatus
	Groups []GroupLeader
}

// NodeStatus is a member as this node sees it.
type NodeStatus struct {
	ID      string
	Address string
	Voter   bool // In every group.
	// Reachable says that the node and this one spoke to each other lately, at LastContact. A node that leads nothing
	// only hears from leaders.
	Reachable   bool
	LastContact time.Time
}

// GroupLeader is the leader of a group; empty: this node knows none.
type GroupLeader struct {
	Group  uint16
	Leader string
	Term   uint64
}

// reachableFor is how old the last contact with a node may be that is called reachable: several heartbeats.
const reachableFor = 2 * time.Second

// Cluster reports on members and leaders, as of this node's newest configurations.
func (s *Store) Cluster() ClusterStatus {
	c := ClusterStatus{ID: s.cluster, Node: s.c.NodeID}
	seen := map[string]int{}
	for _, id := range s.c.Groups {
		g := s.groups[id]
		leader := g.Leader()
		c.Groups = append(c.Groups, GroupLeader{Group: id, Leader: leader, Term: g.raft.CurrentTerm()})
		contact, _ := g.safe.LeaderContact()
		for _, server := range g.servers().Servers {
			node := nodeOf(server.ID)
			at, known := seen[node]
			if !known {
				at = len(c.Nodes)
				seen[node] = at
				c.Nodes = append(c.Nodes, NodeStatus{ID: node, Address: string(server.Address), Voter: true})
			}
			n := &c.Nodes[at]
			n.Voter = n.Voter && server.Suffrage == raft.Voter
			heard := g.safe.PeerContact(server.ID)
			if node == leader && contact.After(heard) {
				heard = contact
			}
			if node == s.c.NodeID {
				heard = time.Now()
			}
			if heard.After(n.LastContact) {
				n.LastContact = heard
			}
			n.Reachable = !n.LastContact.IsZero() && time.Since(n.LastContact) < reachableFor
		}
	}
	return c
}

// about is what this node tells, within bounds.
func (s *Store) about() []byte {
	if s.c.About == nil {
		return nil
	}
	b := s.c.About()
	if len(b) > AboutBytesMax {
		s.c.Logger.Error("Config.About returns too much and is not told")
		return nil
	}
	return b
}

// About asks a member for what its Config.About returns now.
func (s *Store) About(ctx context.Context, node string) ([]byte, error) {
	if node == s.c.NodeID {
		return s.about(), nil
	}
	for _, n := range s.Cluster().Nodes {
		if n.ID == node {
			a, err := s.ask(ctx, n.Address, question{Op: "about"})
			return a.About, err
		}
	}
	return nil, fmt.Errorf("%s is no member", node)
}
