package daemon

import (
	"context"
	"net"
)

// others are the other nodes, as the files of this one know them.
type others struct{ *node }

// Voters are the members that vote.
func (o others) Voters() (count int, self bool, names []string) {
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

// Dial opens a connection to a member over the peer port.
func (o others) Dial(ctx context.Context, node string) (net.Conn, error) {
	return o.raft.OpenStream(ctx, node)
}
