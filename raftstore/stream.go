package raftstore

import (
	"context"
	"fmt"
	"net"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

// OpenStream opens a connection to the Config.Stream of another member: of the same cluster, with its certificate, over the
// peer port. What it carries means nothing here. A node whose version has no streams closes it at once.
func (s *Store) OpenStream(ctx context.Context, node string) (net.Conn, error) {
	for _, n := range s.Cluster().Nodes {
		if n.ID == node {
			return s.mux.Dial(ctx, transport.Stream, n.Address)
		}
	}
	return nil, fmt.Errorf("%s is no member", node)
}
