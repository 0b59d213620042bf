package attack

import (
	"context"
	"net"
	"time"
)

// peerConnections is how many connections made failovers slow in a security test.
const peerConnections = 80

// peers keeps connections open on the peer port: silent ones, and ones that send the head of a TLS record and then a byte a second.
type peers struct{ nothing }

func (peers) Attack(ctx context.Context, e *Env) error {
	// This is the type, the version and a length of 512 bytes, so the node waits for the rest of a ClientHello.
	hello := func(c net.Conn) error { return write(c, []byte{0x16, 3, 1, 2, 0, 1}) }
	drip := func(c net.Conn) error { return write(c, []byte{0}) }
	several(2, func(i int) {
		if i == 0 {
			e.keepConnections(ctx, "", e.Target.Peer, peerConnections, nil, nil)
		} else {
			e.keepConnections(ctx, "half a handshake", e.Target.Peer, peerConnections, hello, drip)
		}
	})
	return nil
}

// write writes bytes within dialMax.
func write(c net.Conn, b []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(dialMax)); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}
