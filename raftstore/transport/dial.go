package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

var errNoPeers = errors.New("this node has no peer port")

// Dial opens a connection to the same group of a peer.
func (s *Streams) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.dialServer(ctx, address)
}

// dialServer opens a connection to an address, with or without the server id that withServer joined to it.
func (s *Streams) dialServer(ctx context.Context, address raft.ServerAddress) (net.Conn, error) {
	at, target, _ := strings.Cut(string(address), serverMark)
	return s.mux.dial(ctx, header{kind: Raft, group: s.group, target: target}, at)
}

// Dial opens a connection of a kind to a peer. ctx bounds the dial and the TLS handshake, headerTimeout the header. It
// fails when this node has no peer port, or when the peer's certificate is not the one expected at the address. The
// caller closes the connection.
func (m *Mux) Dial(ctx context.Context, kind Kind, address string) (net.Conn, error) {
	return m.dial(ctx, header{kind: kind}, address)
}

func (m *Mux) dial(ctx context.Context, h header, address string) (net.Conn, error) {
	if m.c.Dial == nil {
		return nil, errNoPeers
	}
	if len(h.target) > targetBytesMax {
		return nil, fmt.Errorf("the server id has %d bytes, at most %d", len(h.target), targetBytesMax)
	}
	c, err := m.c.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if m.c.Credentials != nil {
		secure := tls.Client(c, m.c.Credentials.config(m.c.Name(address), x509.ExtKeyUsageServerAuth))
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c = secure
	}
	if err := c.SetDeadline(time.Now().Add(headerTimeout)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	h.cluster = m.cluster.Load()
	if _, err := c.Write(h.append(nil)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	m.mu.Lock()
	m.members.add(addressOf(c.RemoteAddr()))
	m.mu.Unlock()
	return c, nil
}
