package raftstore

import (
	"context"
	"fmt"
	"net"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

// OpenStream opens a connection to the Config.Stream of another member: of the same cluster, with its certificate, over
// the peer port. raftstore does not interpret what it carries. ctx bounds the dial; the caller closes the connection.
// It returns an error when the node is not a member or cannot be dialled. A node whose version has no streams closes
// the connection at once.
func (s *Store) OpenStream(ctx context.Context, node string) (net.Conn, error) {
	for _, n := range s.Cluster().Nodes {
		if n.ID == node {
			return s.mux.Dial(ctx, transport.Stream, n.Address)
		}
	}
	return nil, fmt.Errorf("%s is no member", node)
}
