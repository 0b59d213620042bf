package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	connsMin   = 1024 // BOUND: members' connections of a node with few groups, each with 512 KB of Raft's buffers when in use.
	groupConns = 6    // Connections of one peer for one group: about five were counted after many transfers.
	peersMax   = 8    // BOUND: peers whose connections must fit, with all groups.
	backlogMax = 16   // BOUND: accepted connections that a group's transport has not taken yet.
)

// Rejects counts refused connections by reason.
type Rejects struct {
	Full    atomic.Uint64 // Too many connections of members.
	Header  atomic.Uint64 // No header in time, or not one of ours.
	Cluster atomic.Uint64 // The header names another cluster.
	Stream  atomic.Uint64 // Unknown kind or group, a group whose backlog is full, or Raft calls for another incarnation.

	Handshake     atomic.Uint64 // Random bytes, an old TLS version, or no bytes in time.
	NoCertificate atomic.Uint64
	Authority     atomic.Uint64 // A certificate of another authority.
	Expired       atomic.Uint64 // Or not valid yet.
	Name          atomic.Uint64 // A valid certificate of a node that is not a member.

	Displaced atomic.Uint64 // Closed in favour of a newer connection before it proved to be a member's; see stageConns.
	Accept    atomic.Uint64 // Failed calls of accept, which need not be a connection each.
}

// Config holds the settings of NewMux.
type Config struct {
	Credentials *Credentials // Nil: plain TCP.
	// Member reports whether a node, by the name in its certificate, may open Raft and forward connections. Name
	// returns the id that the node at an address must have, empty if unknown. Both are needed with Credentials.
	Member func(node string) bool
	Name   func(address string) string

	Listener net.Listener // Nil: no peer port and no peers.
	Dial     func(ctx context.Context, address string) (net.Conn, error)
	Cluster  uint64
	Logger   *slog.Logger
	// ConnectionsMax bounds the accepted connections, at least ConnectionsMin. The bound is lower when the groups need
	// fewer.
	ConnectionsMax int // [what the groups need]
}

// Mux is the peer port. It reads the header of each connection and hands the connection to the streams of its group, or
// to the handler of its kind. Groups never share a connection for calls: one stuck group would block all.
//
// INVARIANT: every accepted connection is in conns until it is closed, and Close closes them all.
type Mux struct {
	c        Config
	cluster  atomic.Uint64 // 0: no cluster yet, so only control connections are served.
	server   atomic.Pointer[string]
	rejects  Rejects
	handlers map[Kind]func(net.Conn)
	start    sync.Once

	mu          sync.Mutex
	streams     map[uint16]*Streams
	conns       map[*conn]struct{}
	byStage     [stages]stageConns // The same connections, by stage.
	members     memberAddresses
	acceptCount uint64 // Number of the last accepted connection.
	closed      bool
	done        sync.WaitGroup
}

// NewMux returns a mux that accepts nothing until Start. OWNERSHIP: the mux closes the listener.
func NewMux(c Config) *Mux {
	m := &Mux{c: c, handlers: map[Kind]func(net.Conn){}, streams: map[uint16]*Streams{}, conns: map[*conn]struct{}{}}
	m.cluster.Store(c.Cluster)
	return m
}

// Handle sets who serves connections of a kind other than Raft. The connection is closed when serve returns.
// REQUIRES: not started.
func (m *Mux) Handle(kind Kind, serve func(net.Conn)) { m.handlers[kind] = serve }

// SetCluster sets the cluster that this node is a member of, and the Raft server that it is: calls for another server
// are refused. Before it is called only control connections are accepted and opened.
func (m *Mux) SetCluster(id uint64, server raft.ServerID) {
	m.server.Store((*string)(&server))
	m.cluster.Store(id)
}

// Start begins to accept; a second call does nothing. Connections for groups that are not open yet are closed.
func (m *Mux) Start() {
	m.start.Do(func() {
		if m.c.Listener != nil {
			m.done.Go(m.accept)
		}
	})
}

// Rejects returns the counters of refused connections.
func (m *Mux) Rejects() *Rejects { return &m.rejects }

// Conns returns the number of open accepted connections.
func (m *Mux) Conns() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.conns)
}

// connsMax bounds the open connections: every group has its own with every peer, so the bound grows with the groups. A
// constant of 1,024 was too few for 256 groups and five nodes. REQUIRES: mu is held.
func (m *Mux) connsMax() int {
	need := max(connsMin, len(m.streams)*groupConns*peersMax) + silentMax + openingMax + askingMax
	if m.c.ConnectionsMax > 0 {
		return min(need, m.c.ConnectionsMax)
	}
	return need
}

// track registers a connection. It returns nil, and closes the connection, when the mux is closed or nothing can be
// displaced.
func (m *Mux) track(raw net.Conn) *conn {
	o := &opening{Conn: raw}
	c := &conn{Conn: o, mux: m, opening: o, source: addressOf(raw.RemoteAddr())}
	m.mu.Lock()
	var victim *conn
	refused := m.closed
	if !refused {
		m.acceptCount++
		c.accepted = m.acceptCount
		victim, refused = m.enterStage(c, stageSilent)
	}
	if !refused {
		m.conns[c] = struct{}{}
	}
	m.mu.Unlock()
	victim.displace()
	if refused {
		m.rejects.Full.Add(1)
		raw.Close()
		return nil
	}
	return c
}

// open makes the handshake, reads the header and hands the connection over, or closes it.
func (m *Mux) open(c *conn) {
	why := m.handshake(c)
	var serve func(net.Conn)
	if why == nil {
		serve, why = m.route(c)
	}
	if why != nil {
		if !m.wasDisplaced(c) { // A displaced connection is counted already.
			why.Add(1)
		}
		c.Close()
		return
	}
	if serve != nil {
		serve(c)
		c.Close()
	}
}

func (m *Mux) wasDisplaced(c *conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return c.displaced
}

// handshake makes the TLS handshake. It returns nil, or the counter of the reason for a refusal. The whole opening has
// one deadline.
func (m *Mux) handshake(c *conn) *atomic.Uint64 {
	refused := &m.rejects.Handshake
	if m.c.Credentials == nil {
		refused = &m.rejects.Header
	}
	if err := c.SetDeadline(time.Now().Add(openingTimeout)); err != nil {
		return refused
	}
	if err := c.opening.wait(); err != nil {
		return refused
	}
	if why := m.advance(c, stageOpening); why != nil || m.c.Credentials == nil {
		return why
	}
	secure := tls.Server(c.opening, m.c.Credentials.config("", x509.ExtKeyUsageClientAuth))
	m.mu.Lock()
	c.Conn = secure
	m.mu.Unlock()
	err := secure.Handshake()
	switch {
	case err == nil:
		c.names = secure.ConnectionState().PeerCertificates[0].DNSNames
		return nil
	case errors.Is(err, errNoCertificate):
		return &m.rejects.NoCertificate
	case errors.Is(err, errExpired):
		return &m.rejects.Expired
	case errors.Is(err, errAuthority):
		return &m.rejects.Authority
	default:
		return &m.rejects.Handshake
	}
}

// Names returns the node ids in the certificate of an accepted connection. secured is false on plain TCP.
func Names(c net.Conn) (names []string, secured bool) {
	if own, ok := c.(*conn); ok {
		return own.names, own.mux.c.Credentials != nil
	}
	return nil, false
}

// member reports whether the certificate names a member. Without certificates every connection counts as a member's.
func (m *Mux) member(c *conn) bool {
	return m.c.Credentials == nil || slices.ContainsFunc(c.names, m.c.Member)
}

// route reads the header. It returns the function that serves the connection, nil when a group took it, or the counter
// of the reason for a refusal.
func (m *Mux) route(c *conn) (serve func(net.Conn), why *atomic.Uint64) {
	h, err := readHeader(c)
	if err != nil {
		return nil, &m.rejects.Header
	}
	cluster := m.cluster.Load()
	unclustered := h.cluster == 0 && h.kind == Control
	if !unclustered && (cluster == 0 || h.cluster != cluster) {
		return nil, &m.rejects.Cluster
	}
	member := m.member(c)
	if h.kind != Control && !member {
		return nil, &m.rejects.Name
	}
	if own := m.server.Load(); h.kind == Raft && own != nil && h.target != *own {
		return nil, &m.rejects.Stream
	}
	if c.SetDeadline(time.Time{}) != nil {
		return nil, &m.rejects.Stream
	}
	c.opening.complete = true
	to := stageMember
	if unclustered && m.c.Credentials == nil || !member {
		to = stageAsking
	}
	if why := m.advance(c, to); why != nil {
		return nil, why
	}
	m.mu.Lock()
	c.member = h.kind != Control
	m.mu.Unlock()
	if serve = m.handlers[h.kind]; serve != nil {
		return serve, nil
	}
	m.mu.Lock()
	s := m.streams[h.group]
	m.mu.Unlock()
	if h.kind != Raft || s == nil || !s.deliver(c) {
		return nil, &m.rejects.Stream
	}
	return nil, nil
}

// CloseNonMembers closes the Raft and forward connections of nodes that are no longer members, by their certificates.
// On plain TCP it does nothing.
func (m *Mux) CloseNonMembers(member func(node string) bool) {
	if m.c.Credentials == nil {
		return
	}
	m.mu.Lock()
	gone := []*conn{}
	for c := range m.conns {
		if c.member && !slices.ContainsFunc(c.names, member) {
			gone = append(gone, c)
		}
	}
	m.mu.Unlock()
	for _, c := range gone {
		m.rejects.Name.Add(1)
		c.Close()
	}
}

// Disconnect stops accepting and closes every accepted connection. It does not wait for the goroutines that serve them.
func (m *Mux) Disconnect() error {
	m.mu.Lock()
	m.closed = true
	conns := make([]*conn, 0, len(m.conns))
	for c := range m.conns {
		conns = append(conns, c)
	}
	m.mu.Unlock()
	var err error
	if m.c.Listener != nil {
		err = m.c.Listener.Close()
	}
	for _, c := range conns {
		c.Close()
	}
	return err
}

// Close is Disconnect and waits for the goroutines. After a Disconnect it returns net.ErrClosed.
func (m *Mux) Close() error {
	err := m.Disconnect()
	m.done.Wait()
	return err
}

// conn is an accepted connection; closing it removes it from the mux.
type conn struct {
	net.Conn // The opening, or TLS over it; changed under the mux's lock.
	mux      *Mux
	opening  *opening // The TCP connection.
	source   netip.Addr
	accepted uint64   // Its number, in the order of accepting.
	names    []string // The names in the certificate, after the handshake.

	// LOCKS: the mux's lock.
	stage     stage
	member    bool // It was opened as a member's: Raft, forward or stream.
	displaced bool // It was closed in favour of a newer one.
}

func (c *conn) Close() error {
	c.mux.mu.Lock()
	c.mux.untrack(c)
	under := c.Conn
	c.mux.mu.Unlock()
	return under.Close()
}

// displace resets the TCP connection: ending TLS would wait for a peer that does not read, and closing TCP in order
// would leave the kernel with one more closed connection for a minute. On nil it does nothing.
func (c *conn) displace() {
	if c == nil {
		return
	}
	c.mux.rejects.Displaced.Add(1)
	if tcp, ok := c.opening.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Without it the connection is closed all the same.
	}
	c.opening.Close()
}
