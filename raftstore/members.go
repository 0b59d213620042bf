package raftstore

import (
	"context"
	"net"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/control"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// VotersMax bounds the voters of a group; further nodes are learners.
const VotersMax = membership.VotersMax

// Remove removes a node from every group, one group after the other. Any member but the node itself may be asked; where
// the node leads a group, it transfers the leadership first. The node stays away, also with an empty directory, until
// Admit.
//
// Each group takes at most 15 s, or less when ctx ends. ErrRefused is final, for example when the node is the only
// voter. Any other error (ErrNotLeader: no leader was found; ErrClosed; an error of Raft or of the network) may pass,
// and groups before it are done: repeat the call, which changes nothing where the node is removed already.
func (s *Store) Remove(ctx context.Context, node string) error { return s.members.Remove(ctx, node) }

// Admit allows a node that was removed to come back. The node then joins by itself, first as a learner; one that runs does
// so within seconds.
//
// Times and errors are those of Remove. ErrRefused is also returned when another node of the cluster answers at address; an
// empty address is not asked.
func (s *Store) Admit(ctx context.Context, node, address string) error {
	return s.members.Admit(ctx, node, address)
}

// Promote gives a member a vote in every group. Nodes promote themselves when they have caught up; a node that has not
// makes the next commits wait.
//
// Times and errors are those of Remove. ErrRefused is returned when the node is not a member, or when a group has
// VotersMax voters.
func (s *Store) Promote(ctx context.Context, node string) error { return s.members.Promote(ctx, node) }

// Transfer gives the leadership of a group to a voter. It changes nothing when that node leads already.
//
// Times and errors are those of Remove. ErrRefused is returned when there is no such group or the node is not a voter
// of it. A follower that does not take the leadership in time is not tried again for a minute in the same term; that
// error may pass.
func (s *Store) Transfer(ctx context.Context, group uint16, node string) error {
	return s.members.Transfer(ctx, group, node)
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

func (g *Group) servers() raft.Configuration { return g.raft.GetConfiguration().Configuration() }

// disconnectFormerMembers closes the connections of nodes that are no longer members, whenever members changed. Nodes
// are recognized by their certificates, so on plain TCP nothing is closed.
func (s *Store) disconnectFormerMembers() {
	for {
		select {
		case <-s.memberChanges:
			s.mux.CloseNonMembers(s.members.Accepts)
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

// membershipConfig returns the configuration as package membership needs it.
func (s *Store) membershipConfig() membership.Config {
	c := &s.c
	return membership.Config{
		FS: c.FS, Dir: c.Dir, LogDir: logDir, Logger: c.Logger, Node: c.NodeID, Groups: c.Groups, AnyGroups: c.AnyGroups, Seeds: c.Seeds,
		Expect: c.Expect, Resolve: c.Resolve, HasPort: c.PeerListen != "", Learner: c.Learner, JoinSettle: c.JoinSettle, NodeInfo: s.nodeInfo,
	}
}

// openMembership prepares what founds, joins and changes a cluster. REQUIRES: the address of this node is known. start
// makes the peer port accept connections.
func (s *Store) openMembership(start func()) {
	self := control.Peer{Node: s.c.NodeID, Process: transport.RandomHex()}
	s.control = control.New(control.Config{
		Self: self, Context: s.ctx, Reasons: membership.Reasons,
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			return s.mux.Dial(ctx, transport.Control, address)
		},
	})
	peers := membership.NewPeers(s.membershipConfig(), self, string(s.address), s.control)
	s.founding = membership.NewFounding(peers, start)
	s.members = membership.NewMembers(s.ctx, peers, s.founding, s.exit)
	s.handleQuestions()
}

// beginMembership lets this node answer as a member.
func (s *Store) beginMembership() {
	var groups []*membership.Group
	for _, id := range s.c.Groups {
		g := s.groups[id]
		groups = append(groups, &membership.Group{ID: id, Raft: g.raft, Lead: g.lead, Transport: g.safe, State: memberState{g}})
	}
	s.members.Begin(groups)
}

// memberState is the replicated state of a group as changes of members need it.
type memberState struct{ group *Group }

var _ membership.State = memberState{}

// IsRemoved reports whether this node's state records a node as removed.
func (m memberState) IsRemoved(node string) bool {
	_, found := m.group.machine.state.Reader().Get(membership.RemovedKey(node))
	return found
}

// CheckJoin asks Config.CheckJoin with the state of the group.
func (m memberState) CheckJoin(nodeInfo []byte) error {
	check := m.group.store.c.CheckJoin
	if check == nil {
		return nil
	}
	return m.group.Read(func(r Reader) error { return check(r, nodeInfo) })
}

// AppendNoop proposes Config.Noop.
func (m memberState) AppendNoop(ctx context.Context) error {
	noop := m.group.store.c.Noop
	if noop == nil {
		return nil
	}
	_, _, err := m.group.batcher.Propose(ctx, noop)
	return err
}

// FoundedGroups returns the group ids that a directory was founded with, or none when it is empty. The number of groups
// never changes, so a caller that would choose it at every start asks here first. It returns ErrDamaged when
// cluster.json cannot be decoded or fails its checksum, or the error of the file system.
func FoundedGroups(fs vfs.FS, dir string) ([]uint16, error) { return membership.FoundedGroups(fs, dir) }
