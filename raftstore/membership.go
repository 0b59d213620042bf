package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// VotersMax bounds the voters of a group. BOUND: each more makes every commit slower; further nodes are learners.
	VotersMax = 5

	changeTimeout = 4 * time.Second
	handOverTries = 3
)

func (g *Group) servers() raft.Configuration { return g.raft.GetConfiguration().Configuration() }

// find returns a server of a configuration.
func find(c raft.Configuration, node string) (raft.Server, bool) {
	for _, s := range c.Servers {
		if s.ID == raft.ServerID(node) {
			return s, true
		}
	}
	return raft.Server{}, false
}

// knows reports whether a node is in the configuration of a group.
func (s *Store) knows(node string) bool {
	for _, g := range s.groups {
		if _, found := find(g.servers(), node); found {
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

// nameOf returns the id of the node at an address, as far as the configurations and the peers say.
func (s *Store) nameOf(address string) string {
	if s.serving.Load() {
		for _, g := range s.groups {
			for _, server := range g.servers().Servers {
				if string(server.Address) == address {
					return string(server.ID)
				}
			}
		}
	}
	for _, p := range s.c.Peers {
		if p.Address == address {
			return p.ID
		}
	}
	return ""
}

// pristine reports whether no group ever had a leader.
func (s *Store) pristine() bool {
	for _, g := range s.groups {
		if last, _ := g.log.LastIndex(); last > 1 || g.raft.CurrentTerm() > 1 {
			return false
		}
	}
	return true
}

// change answers a question about members. It changes something only on the leader, which is one node at a time.
func (s *Store) change(q question) answer {
	g := s.groups[q.Group]
	if g == nil {
		return answer{Refused: fmt.Sprintf("there is no group %d", q.Group)}
	}
	if !g.Ready() {
		address, _ := g.raft.LeaderWithID()
		return answer{Leader: string(address), Refused: ErrNotLeader.Error()}
	}
	s.membership.Lock()
	defer s.membership.Unlock()
	if err := g.changeMembers(q); err != nil {
		return answer{Refused: err.Error()}
	}
	return answer{}
}

// changeMembers makes one change of members, followed by a no-op.
func (g *Group) changeMembers(q question) error {
	id, address := raft.ServerID(q.Subject), raft.ServerAddress(q.Address)
	servers := g.servers()
	known, found := find(servers, q.Subject)
	var f raft.IndexFuture
	switch q.Op {
	case "join", "admit":
		if found && known.Suffrage == raft.Voter {
			return ErrMember
		}
		if found && known.Address == address {
			return nil
		}
		f = g.raft.AddNonvoter(id, address, 0, changeTimeout)
	case "promote":
		if !found || known.Suffrage == raft.Voter {
			return nil
		}
		if voters(servers) >= VotersMax {
			return nil
		}
		f = g.raft.AddVoter(id, known.Address, 0, changeTimeout)
	case "remove":
		if !found {
			return nil
		}
		if known.Suffrage == raft.Voter {
			if voters(servers) == 1 {
				return errors.New("the only voter cannot be removed")
			}
			if err := g.raft.DemoteVoter(id, 0, changeTimeout).Error(); err != nil {
				return err
			}
		}
		f = g.raft.RemoveServer(id, 0, changeTimeout)
	case "transfer":
		if !found || known.Suffrage != raft.Voter {
			return fmt.Errorf("%s is no voter", q.Subject)
		}
		return g.raft.LeadershipTransferToServer(id, known.Address).Error()
	default:
		return fmt.Errorf("unknown operation %q", q.Op)
	}
	if err := f.Error(); err != nil {
		return err
	}
	return g.noop()
}

func (g *Group) noop() error {
	if g.store.c.Noop == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(g.store.life, changeTimeout)
	defer cancel()
	_, _, err := g.batcher.propose(ctx, g.store.c.Noop)
	return err
}

func voters(c raft.Configuration) (n int) {
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			n++
		}
	}
	return n
}

// askLeader puts a question to the leader of a group, wherever it is.
func (s *Store) askLeader(ctx context.Context, q question) error {
	if g := s.groups[q.Group]; g.Ready() {
		if a := s.change(q); a.Refused != "" {
			return errors.New(a.Refused)
		}
		return nil
	}
	addresses := []string{}
	if leader, _ := s.groups[q.Group].raft.LeaderWithID(); leader != "" {
		addresses = append(addresses, string(leader))
	}
	for _, p := range s.c.Peers {
		if p.ID != s.c.NodeID {
			addresses = append(addresses, p.Address)
		}
	}
	err := ErrNotLeader
	for _, address := range addresses {
		var a answer
		if a, err = s.ask(ctx, address, q); err != nil && a.Leader != "" && a.Leader != address {
			_, err = s.ask(ctx, a.Leader, q)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// Remove takes a node out of every group. Ask any member but the node itself; a group whose leader is the node hands
// over first. Repeat it after an error. The node stays away, also with an empty directory, until it is admitted.
func (s *Store) Remove(ctx context.Context, node string) error {
	return s.changeAll(ctx, question{Op: "remove", Subject: node})
}

// Admit lets a node that was removed come back, and makes the node at address a member without a vote in every group. It
// becomes a voter by itself when it has caught up, or with Promote.
func (s *Store) Admit(ctx context.Context, node, address string) error {
	return s.changeAll(ctx, question{Op: "admit", Subject: node, Address: address})
}

// Promote gives a member a vote in every group that has room for one more. Nodes do it by themselves when they have caught
// up; a node that has not makes the next commits wait.
func (s *Store) Promote(ctx context.Context, node string) error {
	return s.changeAll(ctx, question{Op: "promote", Subject: node})
}

// Transfer gives the leadership of a group to a voter.
func (s *Store) Transfer(ctx context.Context, group uint16, node string) error {
	if s.groups[group] == nil {
		return fmt.Errorf("there is no group %d", group)
	}
	return s.askLeader(ctx, question{Op: "transfer", Subject: node, Group: group})
}

// changeAll asks the leader of each group, one after the other.
func (s *Store) changeAll(ctx context.Context, q question) error {
	for _, id := range s.c.Groups {
		q.Group = id
		if err := s.askLeader(ctx, q); err != nil {
			return fmt.Errorf("group %d: %w", id, err)
		}
	}
	return nil
}

// Member is a node of a group.
type Member struct {
	Peer
	Voter bool
}

// Members are the nodes of the group, as of this node's newest configuration.
func (g *Group) Members() (all []Member) {
	for _, s := range g.servers().Servers {
		all = append(all, Member{Peer{string(s.ID), string(s.Address)}, s.Suffrage == raft.Voter})
	}
	return all
}

// Drain hands every leadership over, each with three tries, and keeps this node from leading again until Close. Close
// drains too; who calls it before can wait until others have taken over.
func (s *Store) Drain(ctx context.Context) error {
	s.handOver()
	for _, id := range s.c.Groups {
		if g := s.groups[id]; g.raft.State() == raft.Leader && voters(g.servers()) > 1 {
			return fmt.Errorf("group %d: nobody takes the leadership over", id)
		}
	}
	return ctx.Err()
}

// handOver gives away what this node leads, so that nobody has to notice its end by a timeout.
func (s *Store) handOver() {
	if !s.serving.Load() {
		return
	}
	for _, id := range s.c.Groups {
		g := s.groups[id]
		for range handOverTries {
			if g.raft.State() != raft.Leader || voters(g.servers()) < 2 {
				break
			}
			_ = g.raft.LeadershipTransfer().Error() // Tried again, or the others notice.
		}
	}
}
