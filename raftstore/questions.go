package raftstore

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/control"
)

// Questions between members beside those about membership.
type (
	// progressQuestion asks how far a member has applied a group.
	progressQuestion struct {
		Group uint16 `json:"group"`
	}
	progressAnswer struct {
		Server  raft.ServerID `json:"server"`
		Applied uint64        `json:"applied"`
		Avoids  bool          `json:"avoids_leadership,omitempty"`
	}
	clockAnswer struct {
		Micros int64 `json:"unix_micros,omitempty"` // 0: the node has no clock to compare.
	}
	reportQuestion struct {
		Report []byte `json:"report"`
	}
	nodeInfoAnswer struct {
		NodeInfo []byte `json:"node_info,omitempty"`
	}
	// digestReports are the digests of the asking node's states, and in the answer those of the asked node at the same
	// checks, as far as they are known.
	digestReports struct {
		Digests []digestReport `json:"digests,omitempty"`
	}
	noQuestion struct{}
)

var (
	askProgress = control.Define[progressQuestion, progressAnswer]("progress")
	askClock    = control.Define[noQuestion, clockAnswer]("clock")
	askNodeInfo = control.Define[noQuestion, nodeInfoAnswer]("node_info")
	tellReport  = control.Define[reportQuestion, noQuestion]("report")
	tellDigests = control.Define[digestReports, digestReports]("digests")
)

// handleQuestions answers the questions of other members.
func (s *Store) handleQuestions() {
	handle(s, askProgress, func(_ control.Peer, q progressQuestion) progressAnswer {
		a := progressAnswer{Server: s.identity.Server, Avoids: s.avoidsLeadership()}
		if g := s.groups[q.Group]; g != nil {
			a.Applied = g.raft.AppliedIndex()
		}
		return a
	})
	handle(s, askClock, func(control.Peer, noQuestion) clockAnswer { return clockAnswer{s.clock()} })
	handle(s, askNodeInfo, func(control.Peer, noQuestion) nodeInfoAnswer { return nodeInfoAnswer{s.nodeInfo()} })
	s.handleReports()
	handle(s, tellDigests, func(from control.Peer, q digestReports) (a digestReports) {
		if s.members.Has(from.Node) {
			a.Digests = s.stateChecks.answer(from.Node, q.Digests)
		}
		return a
	})
}

// handle answers an operation that only members ask, once this node serves.
func handle[Q, A any](s *Store, o control.Operation[Q, A], answer func(from control.Peer, q Q) A) {
	member := func(from control.Peer, _ Q) bool { return s.members.Accepts(from.Node) }
	o.Handle(s.control, member, func(_ context.Context, from control.Peer, q Q) (a A, err error) {
		if err := s.members.Serving(); err != nil {
			return a, err
		}
		return answer(from, q), nil
	})
}

// NodeInfo asks a member for what its Config.NodeInfo returns now. It waits for 5 s at most. It returns an error when
// the node is not a member, does not answer in time, or refuses; none of these is to be tested for.
func (s *Store) NodeInfo(ctx context.Context, node string) ([]byte, error) {
	if node == s.c.NodeID {
		return s.nodeInfo(), nil
	}
	for _, n := range s.Cluster().Nodes {
		if n.ID == node {
			a, _, err := askNodeInfo.Ask(ctx, s.control, n.Address, noQuestion{})
			return a.NodeInfo, err
		}
	}
	return nil, fmt.Errorf("%s is no member", node)
}
