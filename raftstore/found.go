package raftstore

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"
)

// meetPause is how long a node without a cluster waits before it asks its peers again, up to twice as long.
const meetPause = 200 * time.Millisecond

// founding is how nodes with empty directories become a cluster.
//
// The node with the lowest id asks all others. When every one of them is there and empty, it thinks of a cluster id and
// tells them; each writes it to its disk, with the list of voters, before it agrees, and the lowest node writes it last.
// The lists are equal, so every node may give its groups the same first configuration by itself.
//
// INVARIANT: a node with an empty directory never becomes a voter that a cluster already counted on: its votes and entries
// would be forgotten. So somebody known to a cluster whose groups ever had a leader is refused (ErrMember). The price: a
// node that loses power in the moment of founding, after a majority of the others has agreed, may have to be replaced.
type founding struct {
	offers chan offer
}

type offer struct {
	question
	agreed chan string // Empty, or why not.
}

func newFounding() *founding { return &founding{offers: make(chan offer)} }

// answer is what a node without a cluster says.
func (f *founding) answer(s *Store, q question) answer {
	if q.Op != "found" {
		return answer{}
	}
	o := offer{q, make(chan string, 1)}
	select {
	case f.offers <- o:
	case <-time.After(controlTimeout):
		return answer{Refused: "this node is opening its directory"}
	case <-s.life.Done():
		return answer{Refused: "this node stops"}
	}
	return answer{Cluster: q.Cluster, Refused: <-o.agreed}
}

// meet finds or founds the cluster of an empty directory, and makes the directory a member's.
func (s *Store) meet(ctx context.Context) (identity, error) {
	s.mux.Start()
	id := clusterText(newCluster())
	for {
		i, agreed, err := s.meetOnce(ctx, id)
		if err != nil || agreed {
			return i, err
		}
		timer := time.NewTimer(meetPause + rand.N(meetPause))
		select {
		case o := <-s.founding.offers:
			i, refused := s.consider(o)
			if refused == "" {
				err := writeIdentity(&s.c, i)
				if err != nil {
					refused = err.Error()
				}
				o.agreed <- refused
				return i, err
			}
			s.c.Logger.Warn("refused to found a cluster", slog.String("with", o.Node), slog.String("why", refused))
			o.agreed <- refused
		case <-timer.C:
		case <-ctx.Done():
			return identity{}, ctx.Err()
		}
		timer.Stop()
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

// meetOnce asks all peers once. agreed says that the directory belongs to a cluster now.
func (s *Store) meetOnce(ctx context.Context, id string) (i identity, agreed bool, err error) {
	founders := s.founders()
	empty := 0
	for _, p := range founders {
		if p.ID == s.c.NodeID {
			continue
		}
		a, err := s.ask(ctx, p.Address, question{Op: "hello", Node: s.c.NodeID, Address: string(s.address)})
		if err != nil {
			continue
		}
		if a.Cluster == "" {
			empty++
			continue
		}
		switch {
		case a.Member && a.Pristine:
			if a.Cluster == id { // Somebody agreed to our own offer, not yet everybody.
				empty++
				continue
			}
			i = s.founder(a.Cluster)
		case a.Member:
			return i, false, ErrMember
		default:
			i = identity{Cluster: a.Cluster, Node: s.c.NodeID, Groups: slices.Sorted(slices.Values(s.c.Groups)), Joined: true}
		}
		return i, true, writeIdentity(&s.c, i)
	}
	if !s.c.Bootstrap || founders[0].ID != s.c.NodeID || empty < len(founders)-1 {
		return i, false, nil
	}
	for _, p := range founders[1:] {
		if _, err := s.ask(ctx, p.Address, question{Op: "found", Node: s.c.NodeID, Cluster: id, Peers: founders}); err != nil {
			s.c.Logger.Warn("a peer does not found the cluster", slog.String("peer", p.ID), slog.Any("err", err))
			return i, false, nil
		}
	}
	i = s.founder(id)
	return i, true, writeIdentity(&s.c, i)
}
