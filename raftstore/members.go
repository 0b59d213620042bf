package raftstore

import (
	"github.com/hashicorp/raft"
)

// find returns the incarnations of a node in a configuration, most often one.
func find(c raft.Configuration, node string) (found []raft.Server) {
	for _, s := range c.Servers {
		if nodeOf(s.ID) == node {
			found = append(found, s)
		}
	}
	return found
}

func (g *Group) servers() raft.Configuration { return g.raft.GetConfiguration().Configuration() }

// self returns this node's entry in the configuration of a group.
func (g *Group) self() (raft.Server, bool) {
	for _, s := range g.servers().Servers {
		if s.ID == g.store.identity.Server {
			return s, true
		}
	}
	return raft.Server{}, false
}

// knows reports whether a node is in the configuration of a group.
func (s *Store) knows(node string) bool {
	for _, g := range s.groups {
		if len(find(g.servers(), node)) > 0 {
			return true
		}
	}
	return false
}

// trusts reports whether a node whose certificate is good may speak raft and forward. A node that joins knows nobody yet
// and lets the authority decide.
func (s *Store) trusts(node string) bool {
	if !s.serving.Load() {
		return true
	}
	for _, g := range s.groups {
		if len(g.servers().Servers) == 0 {
			return true
		}
	}
	return s.knows(node)
}

// nameOf returns the id of the node at an address, as far as the configurations say.
func (s *Store) nameOf(address string) string {
	if s.serving.Load() {
		for _, g := range s.groups {
			for _, server := range g.servers().Servers {
				if string(server.Address) == address {
					return nodeOf(server.ID)
				}
			}
		}
	}
	return ""
}

// cutStrangers closes the connections of nodes that are no members any more, whenever members changed. Nodes are known by
// their certificates, so on plain TCP nothing is cut.
func (s *Store) cutStrangers() {
	for {
		select {
		case <-s.members:
			s.mux.Cut(s.trusts)
		case <-s.life.Done():
			return
		}
	}
}

// membersChanged wakes cutStrangers.
func (s *Store) membersChanged() {
	select {
	case s.members <- struct{}{}:
	default: // It is awake.
	}
}

func voters(c raft.Configuration) (n int) {
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			n++
		}
	}
	return n
}

// Member is a node of a group.
type Member struct {
	ID      string
	Address string
	Voter   bool
}

// Members are the nodes of the group, as of this node's newest configuration.
func (g *Group) Members() (all []Member) {
	for _, s := range g.servers().Servers {
		all = append(all, Member{nodeOf(s.ID), string(s.Address), s.Suffrage == raft.Voter})
	}
	return all
}
