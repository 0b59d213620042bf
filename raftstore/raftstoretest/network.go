package raftstoretest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"
)

// Network is a network in memory, made for synctest bubbles. Nodes are known by their addresses. Connections behave
// like TCP: bytes arrive in order, after a random delay; a cut holds them back until it is removed, a killed node
// resets them.
type Network struct {
	mu      sync.Mutex
	changed sync.Cond // Signalled when anything changed that a blocked Dial or Accept may wait for.
	rng     *rand.Rand
	slow    time.Duration
	lag     time.Duration
	cuts    map[[2]string]bool
	hosts   map[string]*Host
	conns   map[*memConn]struct{}
}

// NewNetwork returns a network whose delays come from seed.
func NewNetwork(seed uint64) *Network {
	n := &Network{
		rng: rand.New(rand.NewPCG(seed, 1)), cuts: map[[2]string]bool{}, hosts: map[string]*Host{}, conns: map[*memConn]struct{}{},
	}
	n.changed.L = &n.mu
	return n
}

// Cut holds back, or releases, what is sent from one node to another. The other direction is not changed.
func (n *Network) Cut(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]string{from, to}] = cut
	n.wakeAll()
}

// Slow adds up to d to the delay of what is sent from now on.
func (n *Network) Slow(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow = d
}

// Jitter gives every connection a delay of its own, up to d, in each direction: bytes on one connection overtake those
// on another.
func (n *Network) Jitter(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lag = d
	for c := range n.conns {
		c.out.lag = n.draw(d)
	}
}

// draw returns a delay below d.
func (n *Network) draw(d time.Duration) time.Duration {
	return time.Duration(n.rng.Int64N(int64(d) + 1))
}

// Heal removes all cuts and delays.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cuts)
	n.slow = 0
	n.lag = 0
	for c := range n.conns {
		c.out.lag = 0
	}
	n.wakeAll()
}

// Host is one process of a node on the network.
type Host struct {
	net     *Network
	address string
	dead    bool
	backlog []*memConn
	open    bool
}

// Host starts a new process of the node at address. REQUIRES: the one before was killed.
func (n *Network) Host(address string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &Host{net: n, address: address}
	n.hosts[address] = h
	return h
}

// Kill resets all connections of the node. What it sends afterwards is lost.
func (h *Host) Kill() {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	h.dead = true
	for c := range n.conns {
		if c.in.from == h || c.out.from == h {
			c.in.reset, c.out.reset = true, true
			c.in.changed.Broadcast()
			c.out.changed.Broadcast()
			delete(n.conns, c)
		}
	}
	n.changed.Broadcast()
}

// PowerOff ends the node without closing its connections, as a power failure does: they stay open at the other ends,
// and nothing arrives on them any more.
func (h *Host) PowerOff() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.dead = true
	for c := range h.net.conns {
		c.in.changed.Broadcast()
		c.out.changed.Broadcast()
	}
	h.net.changed.Broadcast()
}

// Listen has the form of raftstore.Config.Listen.
func (h *Host) Listen(string) (net.Listener, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.open = true
	return memListener{h}, nil
}

// Dial has the form of raftstore.Config.Dial. Over a cut it waits like TCP does.
func (h *Host) Dial(ctx context.Context, address string) (net.Conn, error) {
	n := h.net
	stop := context.AfterFunc(ctx, n.wake)
	defer stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	for !h.dead && (n.cuts[[2]string{h.address, address}] || n.cuts[[2]string{address, h.address}]) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n.changed.Wait()
	}
	peer := n.hosts[address]
	if h.dead || peer == nil || peer.dead || !peer.open {
		return nil, fmt.Errorf("dial %s: %w", address, syscall.ECONNREFUSED)
	}
	there, back := n.flow(h, peer), n.flow(peer, h)
	local, remote := &memConn{net: n, in: back, out: there}, &memConn{net: n, in: there, out: back}
	n.conns[local], n.conns[remote] = struct{}{}, struct{}{}
	peer.backlog = append(peer.backlog, remote)
	n.changed.Broadcast()
	return local, nil
}

func (n *Network) wake() {
	n.mu.Lock()
	n.changed.Broadcast()
	n.mu.Unlock()
}

// wakeAll wakes every blocked call. REQUIRES: the lock is held.
func (n *Network) wakeAll() {
	n.changed.Broadcast()
	for c := range n.conns {
		c.in.changed.Broadcast()
	}
}

func (n *Network) flow(from, to *Host) *flow {
	f := &flow{from: from, to: to, lag: n.draw(n.lag)}
	f.changed.L = &n.mu
	f.timer = time.AfterFunc(time.Hour, f.wake)
	f.timer.Stop()
	return f
}
