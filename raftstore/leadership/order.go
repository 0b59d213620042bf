package leadership

import (
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

// order returns the voters of a group, the preferred leader first: all voters in the order of their node ids,
// beginning with another one in each group. All nodes compute the same order, and groups with neighbouring ids have
// different leaders.
func order(c raft.Configuration, group uint16) []raft.Server {
	all := slices.DeleteFunc(slices.Clone(c.Servers), func(s raft.Server) bool { return s.Suffrage != raft.Voter })
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b raft.Server) int { return strings.Compare(transport.NodeOf(a.ID), transport.NodeOf(b.ID)) })
	first := int(group) % len(all)
	return slices.Concat(all[first:], all[:first])
}

// Preferred returns the voter that should lead a group.
func Preferred(c raft.Configuration, group uint16) (raft.Server, bool) {
	all := order(c, group)
	if len(all) == 0 {
		return raft.Server{}, false
	}
	return all[0], true
}

// Rank is the number of voters that should lead the group before this node does; 0 for a node that is not a
// voter.
func Rank(c raft.Configuration, group uint16, me raft.ServerID) int {
	return max(slices.IndexFunc(order(c, group), func(s raft.Server) bool { return s.ID == me }), 0)
}
