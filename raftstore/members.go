package raftstore

import (
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

// incarnations returns the incarnations of a node in a configuration, most often one.
func incarnations(c raft.Configuration, node string) (found []raft.Server) {
	for _, s := range c.Servers {
		if transport.NodeOf(s.ID) == node {
			found = append(found, s)
		}
	}
	return found
}

func (g *Group) servers() raft.Configuration { return g.raft.GetConfiguration().Configuration() }

// self returns this node's entry in the group's configuration.
func (g *Group) self() (raft.Server, bool) {
	for _, s := range g.servers().Servers {
		if s.ID == g.store.identity.Server {
			return s, true
		}
	}
	return raft.Server{}, false
}

// hasMember reports whether a node is in the configuration of a group.
func (s *Store) hasMember(node string) bool {
	for _, g := range s.groups {
		if len(incarnations(g.servers(), node)) > 0 {
			return true
		}
	}
	return false
}

// acceptsMember reports whether a node with a valid certificate may open Raft and forward connections. A node that is
// joining knows no members yet, so the certificate alone decides there.
func (s *Store) acceptsMember(node string) bool {
	if !s.serving.Load() {
		return true
	}
	for _, g := range s.groups {
		if len(g.servers().Servers) == 0 {
			return true
		}
	}
	return s.hasMember(node)
}

// nameOf returns the id of the node at an address, as far as the configurations say, or "".
func (s *Store) nameOf(address string) string {
	if s.serving.Load() {
		for _, g := range s.groups {
			for _, server := range g.servers().Servers {
				if string(server.Address) == address {
					return transport.NodeOf(server.ID)
				}
			}
		}
	}
	return ""
}

// disconnectFormerMembers closes the connections of nodes that are no longer members, whenever members changed. Nodes
// are recognized by their certificates, so on plain TCP nothing is closed.
func (s *Store) disconnectFormerMembers() {
	for {
		select {
		case <-s.memberChanges:
			s.mux.CloseNonMembers(s.acceptsMember)
		case <-s.ctx.Done():
			return
		}
	}
}

// membersChanged wakes disconnectFormerMembers.
func (s *Store) membersChanged() {
	select {
	case s.memberChanges <- struct{}{}:
	default: // It is already woken.
	}
}

// voters counts the voters of a configuration.
func voters(c raft.Configuration) (n int) {
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			n++
		}
	}
	return n
}

// Member is a node of a group as one configuration lists it.
type Member struct {
	ID      string // Node id.
	Address string // Where peers dial it.
	Voter   bool   // False: a learner.
}

// Members returns the nodes of the group, as of this node's newest configuration, which need not be committed.
// REQUIRES: the store is open.
func (g *Group) Members() (all []Member) {
	for _, s := range g.servers().Servers {
		all = append(all, Member{transport.NodeOf(s.ID), string(s.Address), s.Suffrage == raft.Voter})
	}
	return all
}
