package transport

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
)

// stage is how far an accepted connection has come. It only grows.
type stage uint8

const (
	stageSilent  stage = iota // Nothing has arrived.
	stageOpening              // Something has arrived; the TLS handshake or the header is not complete.
	stageAsking               // A control connection that shows neither a member's certificate nor the cluster's id.
	stageMember               // A connection of a member.
	stages
)

const (
	// BOUND: connections on which nothing has arrived. Each costs a descriptor and a small goroutine. The first bytes of a member
	// arrive with its connection, so it leaves this stage long before so many others have been accepted.
	silentMax  = 256
	openingMax = 256 // BOUND: unfinished handshakes, each with some 30 KB.
	askingMax  = 64  // BOUND: control connections of nodes that are not known as members, each with at most controlBytesMax.

	// ConnectionsMin is the least that Config.ConnectionsMax may be: a member of five nodes with a few groups.
	ConnectionsMin = 64

	peersMin = 2 // The other nodes of the smallest cluster that survives the loss of one.

	memberAddressesMax = 64 // BOUND: source addresses that are remembered as those of members.
)

// shares splits a bound of all connections among the stages. Members have what the others leave, at least three fifths:
// connections that have proved nothing cannot take it, and the other way round.
func shares(total int) (limits [stages]int) {
	limits[stageSilent] = min(silentMax, total/6)
	limits[stageOpening] = min(openingMax, total/6)
	limits[stageAsking] = min(askingMax, total/16)
	limits[stageMember] = total - limits[stageSilent] - limits[stageOpening] - limits[stageAsking]
	return limits
}

// CheckConnectionsMax logs when the bound is lower than what the groups that are open need in a cluster of three nodes: then
// members' connections are refused while everybody is well.
func (m *Mux) CheckConnectionsMax() {
	m.mu.Lock()
	members, need := shares(m.connsMax())[stageMember], len(m.streams)*groupConns*peersMin
	m.mu.Unlock()
	if m.c.Listener != nil && members < need {
		m.c.Logger.Warn("peer_connections_bound_low", slog.Int("bound", m.c.ConnectionsMax), slog.Int("for_members", members), slog.Int("needed", need),
			slog.String("action", "raise the process's limit of open files"))
	}
}

// held are the connections in one stage. A full stage before that of members always takes a new connection and closes another
// one for it: the oldest of the source address that has most. So who opens many connections displaces its own, and since a
// member's handshake takes milliseconds, it is complete before it is the oldest, also when the member shares its address with
// them. A quarter of the stage is reserved for the addresses of members: up to there, theirs are not closed for others.
//
// Rejected: to refuse the new connection, because then whoever is first keeps everybody out; and a fixed number for each
// address, because with few addresses it wastes most of the stage, and with many it protects nothing.
type held struct {
	count     int
	byAddress map[netip.Addr][]*conn // Oldest first.
}

// add appends a connection.
func (h *held) add(c *conn) {
	if h.byAddress == nil {
		h.byAddress = map[netip.Addr][]*conn{}
	}
	h.count++
	h.byAddress[c.source] = append(h.byAddress[c.source], c)
}

func (h *held) remove(c *conn) {
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

// displaced returns the connection that a full stage closes for a new one from source, nil if there is none. reserved
// connections of members' addresses are kept.
func (h *held) displaced(source netip.Addr, members *memberAddresses, reserved int) (victim *conn) {
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

// memberAddresses are the source addresses from which members came and those at which this node reached them, the least
// recently seen one leaving first. One that was a member's once keeps no more than its part of the reserve.
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

// addressOf is the source that connections are counted by: an IPv4 address, or the 64 bits of an IPv6 address that one host
// has to itself. Networks without such addresses count as one source.
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

// advance moves a connection to a later stage, closing another one of that stage if it is full. It returns the counter of
// the reason when the connection may not go on.
func (m *Mux) advance(c *conn, to stage) (why *atomic.Uint64) {
	m.mu.Lock()
	if _, open := m.conns[c]; !open {
		m.mu.Unlock()
		return &m.rejects.Handshake // It was closed meanwhile.
	}
	m.held[c.stage].remove(c)
	victim, full := m.admit(c, to)
	m.mu.Unlock()
	victim.displace()
	if full {
		return &m.rejects.Full
	}
	return nil
}

// admit puts a connection into a stage. REQUIRES: mu is held, and the connection is in no stage. The caller closes the victim.
func (m *Mux) admit(c *conn, to stage) (victim *conn, full bool) {
	limit, h := shares(m.connsMax())[to], &m.held[to]
	if h.count >= limit {
		if to == stageMember {
			return nil, true
		}
		if victim = h.displaced(c.source, &m.members, limit/4); victim == nil {
			return nil, true
		}
		m.forget(victim)
		victim.displaced = true
	}
	c.stage = to
	h.add(c)
	if to == stageMember {
		m.members.add(c.source)
	}
	return victim, false
}

// forget removes a connection from the mux. REQUIRES: mu is held.
func (m *Mux) forget(c *conn) {
	if _, open := m.conns[c]; open {
		delete(m.conns, c)
		m.held[c.stage].remove(c)
	}
}

// relieve closes a connection that has proved least, for its descriptor. It reports whether there was one.
func (m *Mux) relieve() bool {
	m.mu.Lock()
	var victim *conn
	for at := stageSilent; at < stageMember && victim == nil; at++ {
		if victim = m.held[at].displaced(netip.Addr{}, &m.members, 0); victim != nil {
			m.forget(victim)
			victim.displaced = true
		}
	}
	m.mu.Unlock()
	victim.displace()
	return victim != nil
}
