package raftstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// A twin is another process that runs with this directory's incarnation, on a copy of it: a disk that was cloned, a virtual
// machine that was started twice. Both would vote and stand as the same server, each with a memory of its own, so that one
// term could have two leaders. Only one may live.
//
// Who starts asks all members it knows before raft does: each looks who answers where it knows this incarnation to live
// (mayJoin), and whoever is not the one that asks is a twin. This node looks at that address too. A twin that was cut off from
// everybody at that moment is found when it is back: a node that hears of no leader for long asks whether it is a member, and
// ends when it is told that another process is (stayMember). What it does until then, at most lonelyAfter and the two
// memberPauses that stayMember may sleep, is not ruled out.

// lookForTwin returns ErrNodeInUse when a twin lives. It is asked for the first group that has other members, and needs
// seedTimeout at most, when one of them is silent.
func (s *Store) lookForTwin(ctx context.Context, c raft.Configuration) error {
	if s.twins || s.c.PeerListen == "" || len(c.Servers) == 0 {
		return nil
	}
	asked, about := map[string]question{}, s.about()
	for _, member := range c.Servers {
		switch {
		case member.ID != s.identity.Server:
			asked[string(member.Address)] = question{Op: "welcome", Subject: s.c.NodeID, Server: s.identity.Server, Address: string(s.address), About: about}
		case member.Address != raft.ServerAddress(s.address):
			asked[string(member.Address)] = question{Op: "hello"}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	s.twins = true
	s.founding.belong(s.identity) // Members ask back, and must not take this node for one without a cluster.
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
			case err == nil && q.Op == "hello" && a.Server == s.identity.Server && a.Run != s.run:
				found = append(found, inUse(s.c.NodeID, address))
			}
		})
	}
	all.Wait()
	if len(found) > 0 {
		return fmt.Errorf("%w; end one of them, and never start a node from a copy of another one's directory", found[0])
	}
	return nil
}

// inUse is the refusal of a process whose node lives elsewhere.
func inUse(node, address string) error {
	return refuse("%w: %s answers at %s; two processes must not share a node id", ErrNodeInUse, node, address)
}
