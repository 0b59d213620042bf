package raftstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// Two processes with one incarnation run when a directory was copied: a disk was cloned, or a virtual machine was
// started twice. Both would vote and campaign as the same server, each with its own memory of votes, so that one term
// could have two leaders. Only one of them may run.
//
// A node that starts asks all members that it knows before Raft starts. Each member asks the address at which it knows
// this incarnation (mayJoin), and reports a process there that is not the asking one. This node asks that address too.
// A second process that was cut off from every member at that moment is found when it is reachable again: a node
// without contact to a leader asks whether it is still a member, and exits when the answer is that another process is
// (maintainMembership). Until then both may vote: for at most leaderContactMax and the two memberPauses that
// maintainMembership may sleep. That is not ruled out.

// checkDuplicateProcess returns ErrNodeInUse when another process with this incarnation answers. It asks once, for the
// first group that has other members, and takes at most seedTimeout when one of them is silent.
func (s *Store) checkDuplicateProcess(ctx context.Context, c raft.Configuration) error {
	if s.duplicateChecked || s.c.PeerListen == "" || len(c.Servers) == 0 {
		return nil
	}
	asked, about := map[string]question{}, s.nodeInfo()
	for _, member := range c.Servers {
		switch {
		case member.ID != s.identity.Server:
			asked[string(member.Address)] = question{Op: "welcome", Subject: s.c.NodeID, Server: s.identity.Server, Address: string(s.address), NodeInfo: about}
		case member.Address != raft.ServerAddress(s.address):
			asked[string(member.Address)] = question{Op: "hello"}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	s.duplicateChecked = true
	s.founding.setIdentity(s.identity) // Members ask this node in turn, and it must not answer as a node without a cluster.
	s.mux.Start()
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	found := make([]error, 0, len(asked))
	var mu sync.Mutex
	var all sync.WaitGroup
	for address, q := range asked {
		all.Go(func() {
			a, err := s.ask(ctx, address, q)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.InUse:
				found = append(found, fmt.Errorf("%w: %s", ErrNodeInUse, a.Refused))
			case err == nil && q.Op == "hello" && a.Server == s.identity.Server && a.ProcessID != s.processID:
				found = append(found, refuseDuplicate(s.c.NodeID, address))
			}
		})
	}
	all.Wait()
	if len(found) > 0 {
		return fmt.Errorf("%w; end one of them, and never start a node from a copy of another one's directory", found[0])
	}
	return nil
}

// refuseDuplicate returns the refusal for a process whose node already runs at another address.
func refuseDuplicate(node, address string) error {
	return refuse("%w: %s answers at %s; two processes must not share a node id", ErrNodeInUse, node, address)
}
