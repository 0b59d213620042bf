package daemon

import (
	"context"
	"net"
)

// blobPeers gives the shared blob store access to the other members.
type blobPeers struct{ *node }

// Voters returns how many members vote, whether this node is one of them, and the ids of the others.
func (o blobPeers) Voters() (count int, self bool, names []string) {
	c := o.raft.Cluster()
	for _, n := range c.Nodes {
		switch {
		case !n.Voter:
			continue
		case n.ID == c.Node:
			self = true
		default:
			names = append(names, n.ID)
		}
		count++
	}
	return count, self, names
}

// Dial opens a stream to a member over the peer port.
func (o blobPeers) Dial(ctx context.Context, node string) (net.Conn, error) {
	return o.raft.OpenStream(ctx, node)
}
