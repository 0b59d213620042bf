package raftstore

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// meetPause is how long a node without a cluster waits before it asks its peers again, up to twice as long.
const meetPause = 200 * time.Millisecond

// founding is how nodes with empty directories become a cluster.
//
// The node with the lowest id asks all others. When every one of them is there and empty, it thinks of a cluster id and
// offers it; each writes it to its disk, with the list of voters, before it agrees, and then waits until the lowest node
// has written it too, which it does last. So nobody votes before all have agreed. The lists are equal, so every node
// may give its groups the same first configuration by itself. Offers may be repeated, also after a restart.
//
// INVARIANT: a node with an empty directory never becomes a voter that a cluster already counted on: its votes and entries
// would be forgotten. So somebody known to a cluster whose groups ever had a leader is refused (ErrMember). The price: when
// the lowest node loses power in the moment of founding, and others restart before it comes back, it may be refused too.
type founding struct {
	offers chan offer

	mu     sync.Mutex
	agreed string // The cluster this node wrote down; empty: none yet.
}

type offer struct {
	question
	reply chan string // Empty, or why not.
}

func newFounding() *founding { return &founding{offers: make(chan offer)} }

func (f *founding) cluster() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.agreed
}

// answer is what a node says that does not serve yet.
func (f *founding) answer(s *Store, q question) answer {
	if agreed := f.cluster(); agreed != "" || q.Op != "found" {
		a := answer{Cluster: agreed, Member: agreed != "", Pristine: agreed != ""}
		if q.Op != "hello" && q.Cluster != agreed {
			a.Refused = "this node is busy with another cluster"
		}
		return a
	}
	o := offer{q, make(chan string, 1)}
	select {
	case f.offers <- o:
		return answer{Cluster: q.Cluster, Refused: <-o.reply}
	case <-time.After(meetPause):
		return answer{Refused: "this node is opening its directory"}
	case <-s.life.Done():
		return answer{Refused: "this node stops"}
	}
}

// meet finds or founds the cluster of an empty directory, and makes the directory a member's.
func (s *Store) meet(ctx context.Context) (identity, error) {
	s.mux.Start()
	id := clusterText(newCluster())
	for {
		i, agreed, err := s.meetOnce(ctx, &id)
		if err != nil || agreed {
			return i, err
		}
		timer := time.NewTimer(meetPause + rand.N(meetPause))
		select {
		case o := <-s.founding.offers:
			i, refused := s.consider(o)
			if refused == "" {
				if err := s.agree(i); err != nil {
					o.reply <- err.Error()
					return i, err
				}
				o.reply <- ""
				return i, s.awaitFounder(ctx, i)
			}
			s.c.Logger.Warn("refused to found a cluster", slog.String("with", o.Node), slog.String("why", refused))
			o.reply <- refused
		case <-timer.C:
		case <-ctx.Done():
			return identity{}, ctx.Err()
		}
		timer.Stop()
	}
}

// agree writes the identity and lets others know.
func (s *Store) agree(i identity) error {
	if err := writeIdentity(&s.c, i); err != nil {
		return err
	}
	s.founding.mu.Lock()
	s.founding.agreed = i.Cluster
	s.founding.mu.Unlock()
	return nil
}

// awaitFounder waits until the lowest node has written the identity, so that all others have.
func (s *Store) awaitFounder(ctx context.Context, i identity) error {
	for {
		a, err := s.ask(ctx, i.Voters[0].Address, question{Op: "hello", Node: s.c.NodeID})
		if err == nil && a.Cluster == i.Cluster {
			return nil
		}
		select {
		case <-time.After(meetPause / 2):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// consider compares an offer with this node's configuration.
func (s *Store) consider(o offer) (i identity, refused string) {
	switch {
	case !s.c.Bootstrap:
		return i, "this node may not found a cluster"
	case !slices.Equal(o.Peers, s.founders()):
		return i, "this node has another list of peers"
	case !slices.Equal(slices.Sorted(slices.Values(o.Groups)), slices.Sorted(slices.Values(s.c.Groups))):
		return i, "this node has other groups"
	}
	return s.founder(o.Cluster), ""
}

func (s *Store) founder(cluster string) identity {
	return identity{Cluster: cluster, Node: s.c.NodeID, Groups: slices.Sorted(slices.Values(s.c.Groups)), Voters: s.founders()}
}

// founders are the peers in the order of their ids.
func (s *Store) founders() []Peer {
	return slices.SortedFunc(slices.Values(s.c.Peers), func(a, b Peer) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
}

// meetOnce asks all peers once. agreed says that the directory belongs to a cluster now. The lowest node keeps the id that
// others have agreed to already.
func (s *Store) meetOnce(ctx context.Context, id *string) (i identity, agreed bool, err error) {
	founders := s.founders()
	lowest := s.c.Bootstrap && founders[0].ID == s.c.NodeID
	there := 0
	for _, p := range founders {
		if p.ID == s.c.NodeID {
			continue
		}
		a, err := s.ask(ctx, p.Address, question{Op: "hello", Node: s.c.NodeID})
		switch {
		case err != nil:
		case a.Cluster == "":
			there++
		case a.Member && a.Pristine: // Founding goes on; the lowest node will tell us, or we are it.
			there++
			*id = a.Cluster
		case a.Member:
			return i, false, ErrMember
		default:
			i = identity{Cluster: a.Cluster, Node: s.c.NodeID, Groups: slices.Sorted(slices.Values(s.c.Groups)), Joined: true}
			return i, true, s.agree(i)
		}
	}
	if !lowest || there < len(founders)-1 {
		return i, false, nil
	}
	for _, p := range founders[1:] {
		if _, err := s.ask(ctx, p.Address, question{Op: "found", Node: s.c.NodeID, Cluster: *id, Peers: founders}); err != nil {
			s.c.Logger.Warn("a peer does not found the cluster", slog.String("peer", p.ID), slog.Any("err", err))
			return i, false, nil
		}
	}
	i = s.founder(*id)
	return i, true, s.agree(i)
}
