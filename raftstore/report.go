package raftstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/raftstore/control"
)

var errNoReports = errors.New("this node takes no reports")

// SendReport sends at most ReportBytesMax bytes to the Config.Report of another member over the peer port. It returns
// when the member has taken them. An error means that it is not known whether it has: the node is not a member, does not
// answer in time or refuses. It waits for 5 s at most.
func (s *Store) SendReport(ctx context.Context, node string, report []byte) error {
	if len(report) > ReportBytesMax {
		return fmt.Errorf("a report of %d bytes, at most %d", len(report), ReportBytesMax)
	}
	for _, n := range s.Cluster().Nodes {
		if n.ID == node {
			_, _, err := tellReport.Ask(ctx, s.control, n.Address, reportQuestion{report})
			return err
		}
	}
	return fmt.Errorf("%s is no member", node)
}

// handleReports gives the reports of members to Config.Report, once this node serves.
func (s *Store) handleReports() {
	member := func(from control.Peer, _ reportQuestion) bool { return s.members.Accepts(from.Node) }
	tellReport.Handle(s.control, member, func(ctx context.Context, from control.Peer, q reportQuestion) (a noQuestion, err error) {
		if err := s.members.Serving(); err != nil {
			return a, err
		}
		if s.c.Report == nil {
			return a, errNoReports
		}
		return a, s.c.Report(ctx, from.Node, q.Report)
	})
}
