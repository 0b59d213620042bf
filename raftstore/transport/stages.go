package transport

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
)

// stage is how much an accepted connection has proved. It only grows.
type stage uint8

const (
	stageSilent  stage = iota // Nothing has arrived.
	stageOpening              // Something has arrived; the TLS handshake or the header is not complete.
	stageAsking               // A control connection that shows neither a member's certificate nor the cluster's id.
	stageMember               // A connection of a member.
	stages
)

const (
	// BOUND: connections on which nothing has arrived. Each costs a descriptor and a small goroutine. The first bytes
	// of a member arrive with its connection, so it leaves this stage long before so many others have been accepted.
	silentMax  = 256
	openingMax = 256 // BOUND: unfinished handshakes, each with some 30 KB.
	askingMax  = 64  // BOUND: control connections of nodes that are not known as members, each with at most control.BytesMax.

	// ConnectionsMin is the least that Config.ConnectionsMax may be: a member of five nodes with a few groups.
	ConnectionsMin = 64

	peersMin = 2 // The number of other nodes in the smallest cluster that survives the loss of one.

	memberAddressesMax = 64 // BOUND: source addresses that are remembered as those of members.
)

// shares splits a bound of all connections among the stages. Members get what the others leave, at least three fifths:
// connections that have proved nothing cannot take that, and members cannot take the rest.
func shares(total int) (limits [stages]int) {
	limits[stageSilent] = min(silentMax, total/6)
	limits[stageOpening] = min(openingMax, total/6)
	limits[stageAsking] = min(askingMax, total/16)
	limits[stageMember] = total - limits[stageSilent] - limits[stageOpening] - limits[stageAsking]
	return limits
}

// CheckConnectionsMax logs a warning when the bound is lower than what the open groups need in a cluster of three
// nodes: then members' connections are refused even when every node works.
func (m *Mux) CheckConnectionsMax() {
	m.mu.Lock()
	members, need := shares(m.connsMax())[stageMember], len(m.streams)*groupConns*peersMin
	m.mu.Unlock()
	if m.c.Listener != nil && members < need {
		m.c.Logger.Warn("peer_connections_bound_low", slog.Int("bound", m.c.ConnectionsMax), slog.Int("for_members", members), slog.Int("needed", need),
			slog.String("action", "raise the process's limit of open files"))
	}
}

// stageConns holds the connections in one stage. A full stage, other than that of members, accepts a new connection and
// closes another one for it: the oldest of the source address that has most. So a source that opens many connections
// displaces its own; and since a member's handshake takes milliseconds, it is complete before it is the oldest, also
// when the member shares its address with such a source. A quarter of the stage is reserved for the addresses of
// members: up to that number, theirs are not closed for others.
//
// A flood of complete ClientHellos from a member's own address still costs the CPU time of as many signatures.
//
// Rejected: to refuse the new connection, because then the first ones keep everybody out (with one bound of 64, 80
// silent connections kept voters apart); and a fixed number for each address, because with few addresses it wastes most
// of the stage, and with many it protects nothing.
type stageConns struct {
	count     int
	byAddress map[netip.Addr][]*conn // Oldest first.
}

// add appends a connection.
func (h *stageConns) add(c *conn) {
	if h.byAddress == nil {
		h.byAddress = map[netip.Addr][]*conn{}
	}
	h.count++
	h.byAddress[c.source] = append(h.byAddress[c.source], c)
}

func (h *stageConns) remove(c *conn) {
	of := h.byAddress[c.source]
	at := slices.Index(of, c)
	if at < 0 {
		return
	}
	h.count--
	if of = slices.Delete(of, at, at+1); len(of) == 0 {
		delete(h.byAddress, c.source)
		return
	}
	h.byAddress[c.source] = of
}

// pickVictim returns the connection that a full stage closes for a new one from source, nil if there is none. The
// connections of members' addresses are kept while they are at most reserved.
func (h *stageConns) pickVictim(source netip.Addr, members *memberAddresses, reserved int) (victim *conn) {
	ofMembers := 0
	for address, of := range h.byAddress {
		if members.contain(address) {
			ofMembers += len(of)
		}
	}
	most := 0
	for address, of := range h.byAddress {
		if ofMembers <= reserved && members.contain(address) {
			continue
		}
		n := len(of)
		if address == source {
			n++ // With the new one.
		}
		if n > most || n == most && of[0].accepted < victim.accepted {
			victim, most = of[0], n
		}
	}
	return victim
}

// memberAddresses holds the source addresses from which members connected and those at which this node reached them.
// The least recently seen one leaves first. An address that was a member's once keeps no more than its part of the
// reserve.
type memberAddresses struct {
	seen map[netip.Addr]uint64
	turn uint64
}

func (m *memberAddresses) contain(a netip.Addr) bool {
	_, found := m.seen[a]
	return found
}

func (m *memberAddresses) add(a netip.Addr) {
	if m.seen == nil {
		m.seen = map[netip.Addr]uint64{}
	}
	m.turn++
	m.seen[a] = m.turn
	if len(m.seen) <= memberAddressesMax {
		return
	}
	oldest := a
	for other, turn := range m.seen {
		if turn < m.seen[oldest] {
			oldest = other
		}
	}
	delete(m.seen, oldest)
}

// addressOf returns the source by which connections are counted: an IPv4 address, or the 64-bit network of an IPv6
// address, which belongs to one host. Networks without such addresses count as one source.
func addressOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		ip = netip.PrefixFrom(ip, 64).Masked().Addr()
	}
	return ip
}

// advance moves a connection to a later stage, and closes another one of that stage if it is full. It returns the
// counter of the reason when the connection may not go on.
func (m *Mux) advance(c *conn, to stage) (why *atomic.Uint64) {
	m.mu.Lock()
	if _, open := m.conns[c]; !open {
		m.mu.Unlock()
		return &m.rejects.Handshake // The connection was closed meanwhile.
	}
	m.byStage[c.stage].remove(c)
	victim, full := m.enterStage(c, to)
	m.mu.Unlock()
	victim.displace()
	if full {
		return &m.rejects.Full
	}
	return nil
}

// enterStage puts a connection into a stage. REQUIRES: mu is held, and the connection is in no stage. The caller closes
// the victim.
func (m *Mux) enterStage(c *conn, to stage) (victim *conn, full bool) {
	limit, h := shares(m.connsMax())[to], &m.byStage[to]
	if h.count >= limit {
		if to == stageMember {
			return nil, true
		}
		if victim = h.pickVictim(c.source, &m.members, limit/4); victim == nil {
			return nil, true
		}
		m.untrack(victim)
		victim.displaced = true
	}
	c.stage = to
	h.add(c)
	if to == stageMember {
		m.members.add(c.source)
	}
	return victim, false
}

// untrack removes a connection from the mux. REQUIRES: mu is held.
func (m *Mux) untrack(c *conn) {
	if _, open := m.conns[c]; open {
		delete(m.conns, c)
		m.byStage[c.stage].remove(c)
	}
}

// freeDescriptor closes a connection that has proved least, to free its file descriptor. It returns false when there is
// none.
func (m *Mux) freeDescriptor() bool {
	m.mu.Lock()
	var victim *conn
	for at := stageSilent; at < stageMember && victim == nil; at++ {
		if victim = m.byStage[at].pickVictim(netip.Addr{}, &m.members, 0); victim != nil {
			m.untrack(victim)
			victim.displaced = true
		}
	}
	m.mu.Unlock()
	victim.displace()
	return victim != nil
}
