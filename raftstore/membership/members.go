package membership

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/control"
	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/leadership"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// State is what changes of members need of the replicated state of a group.
type State interface {
	// IsRemoved reports whether this node's state records a node as removed.
	IsRemoved(node string) bool
	// CheckJoin returns why a node with this NodeInfo may not be a member.
	CheckJoin(nodeInfo []byte) error
	// AppendNoop commits a command that changes nothing.
	AppendNoop(ctx context.Context) error
}

// Group is one Raft group as changes of members need it. All fields are required.
type Group struct {
	ID        uint16
	Raft      *raft.Raft
	Lead      *leadership.Group
	Transport transport.Safe
	State     State

	members *Members
}

// Members changes the members of the groups and keeps this node one. Its methods are safe for concurrent use after
// Begin.
type Members struct {
	peers    *Peers
	founding *Founding
	ctx      context.Context // Ends when the store closes.
	exit     *fatal.Exit

	// changeSlot admits one change of members at a time. It is a channel and not a mutex, because simulated time goes
	// on while a goroutine waits for a channel. BOUND: one.
	changeSlot       chan struct{}
	duplicateChecked bool // Members were asked for a second process on a copy of the directory.

	identity Identity // Complete once serving is true, as are the fields below.
	groups   map[uint16]*Group
	order    []uint16
	serving  atomic.Bool
}

// NewMembers returns the members of a store that does not serve yet, and answers the questions of other nodes. ctx ends
// when the store closes.
func NewMembers(ctx context.Context, p *Peers, f *Founding, exit *fatal.Exit) *Members {
	m := &Members{peers: p, founding: f, ctx: ctx, exit: exit, changeSlot: make(chan struct{}, 1), groups: map[uint16]*Group{}}
	ofItself := func(from control.Peer, node string) bool { return node == from.Node || m.Accepts(from.Node) }
	member := func(from control.Peer) bool { return m.Accepts(from.Node) }
	welcome.Handle(p.port, func(from control.Peer, q applicant) bool { return ofItself(from, q.Node) }, m.answerWelcome)
	joinGroup.Handle(p.port, func(from control.Peer, q request[applicant]) bool { return ofItself(from, q.Change.Node) }, answerChange[applicant](m))
	promote.Handle(p.port, func(from control.Peer, q request[promotion]) bool { return ofItself(from, q.Change.Node) }, answerChange[promotion](m))
	admit.Handle(p.port, func(from control.Peer, _ request[admission]) bool { return member(from) }, answerChange[admission](m))
	remove.Handle(p.port, func(from control.Peer, _ request[removal]) bool { return member(from) }, answerChange[removal](m))
	transfers.Handle(p.port, func(from control.Peer, _ request[transfer]) bool { return member(from) }, answerChange[transfer](m))
	return m
}

// SetIdentity sets the identity of the directory, which is known before the groups are.
func (m *Members) SetIdentity(i Identity) { m.identity = i }

// Begin gives the groups, in the order in which they are changed, and lets this node answer as a member.
func (m *Members) Begin(groups []*Group) {
	for _, g := range groups {
		g.members = m
		m.groups[g.ID] = g
		m.order = append(m.order, g.ID)
	}
	m.founding.SetIdentity(m.identity)
	m.serving.Store(true)
}

// Serving returns nil once Begin was called, and before that the reason for which this node answers no questions of
// members.
func (m *Members) Serving() error {
	if m.serving.Load() {
		return nil
	}
	return m.founding.notServing()
}

// Has reports whether a node is in the configuration of a group.
func (m *Members) Has(node string) bool {
	for _, g := range m.groups {
		if len(incarnations(g.servers(), node)) > 0 {
			return true
		}
	}
	return false
}

// Accepts reports whether a node with a valid certificate may open Raft and forward connections. A node that is joining
// knows no members yet, so the certificate alone decides there.
func (m *Members) Accepts(node string) bool {
	if !m.serving.Load() {
		return true
	}
	for _, g := range m.groups {
		if len(g.servers().Servers) == 0 {
			return true
		}
	}
	return m.Has(node)
}

// NameOf returns the id of the node at an address, as far as the configurations say, or "".
func (m *Members) NameOf(address string) string {
	if m.serving.Load() {
		for _, g := range m.groups {
			for _, server := range g.servers().Servers {
				if string(server.Address) == address {
					return transport.NodeOf(server.ID)
				}
			}
		}
	}
	return ""
}

// incarnations returns the incarnations of a node in a configuration, most often one.
func incarnations(c raft.Configuration, node string) (found []raft.Server) {
	for _, s := range c.Servers {
		if transport.NodeOf(s.ID) == node {
			found = append(found, s)
		}
	}
	return found
}

// Voters counts the voters of a configuration.
func Voters(c raft.Configuration) (n int) {
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			n++
		}
	}
	return n
}

// IsSoleVoter reports whether a server is the only voter of a configuration.
func IsSoleVoter(c raft.Configuration, server raft.ServerID) bool {
	is := func(s raft.Server) bool { return s.ID == server && s.Suffrage == raft.Voter }
	return Voters(c) == 1 && slices.ContainsFunc(c.Servers, is)
}

func (g *Group) servers() raft.Configuration { return g.Raft.GetConfiguration().Configuration() }

// self returns this node's entry in the group's configuration.
func (g *Group) self() (raft.Server, bool) {
	for _, s := range g.servers().Servers {
		if s.ID == g.members.identity.Server {
			return s, true
		}
	}
	return raft.Server{}, false
}

// pause waits for d, or until the store closes.
func (m *Members) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.ctx.Done():
	}
}

// logger returns the logger of this node.
func (m *Members) logger() *slog.Logger { return m.peers.c.Logger }
