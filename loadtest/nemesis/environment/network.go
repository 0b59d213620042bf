//go:build linux

package environment

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
)

// Network is the bridge between the nodes, with the faults that are injected into it. The clients are on the machine's side of the bridge
// and always reach every node: cuts are between nodes only, as when a rack loses its link to other racks and not to its clients.
//
// INVARIANT: the rules in a node's namespace are exactly those of dropped and loss, so that faults that overlap can be removed in any
// order: a link is open when no cut of it is in force.
type Network struct {
	slot     *slot
	nodes    int
	iptables bool // iptables works; otherwise cuts are blackhole routes.
	mu       sync.Mutex
	dropped  map[link]int // How many cuts of a link are in force.
	loss     float64      // The share of packets that are dropped, 0 to 1.
}

// link is the direction from one node to another.
type link struct{ from, to int }

func newNetwork(s *slot, nodes int) (*Network, error) {
	n := &Network{slot: s, nodes: nodes, dropped: map[link]int{}}
	if err := commands(
		"ip", "link add "+s.bridge()+" type bridge",
		"ip", "addr add "+n.Host()+"/24 dev "+s.bridge(),
		"ip", "link set "+s.bridge()+" up",
	); err != nil {
		return nil, err
	}
	for i := range nodes {
		if err := commands(
			"ip", "netns add "+s.namespace(i),
			"ip", "link add "+s.veth(i)+" type veth peer name eth0 netns "+s.namespace(i),
			"ip", "link set "+s.veth(i)+" master "+s.bridge()+" up",
			"ip", "-n "+s.namespace(i)+" addr add "+n.IP(i)+"/24 dev eth0",
			"ip", "-n "+s.namespace(i)+" link set eth0 up",
			"ip", "-n "+s.namespace(i)+" link set lo up",
		); err != nil {
			return nil, err
		}
	}
	if _, err := exec.LookPath("iptables"); err == nil {
		_, err := n.runIn(0, "iptables", "-w", "-L", "INPUT")
		n.iptables = err == nil
	}
	return n, nil
}

// IP is the address of node i.
func (n *Network) IP(i int) string { return fmt.Sprintf("10.99.%d.%d", n.slot.number, 11+i) }

// Host is the address of the machine itself on the bridge.
func (n *Network) Host() string { return fmt.Sprintf("10.99.%d.1", n.slot.number) }

// CanLose reports whether Lose works on this machine.
func (n *Network) CanLose() bool { return n.iptables }

// Cut drops the packets from one node to another, in this direction only. Heal undoes one Cut.
func (n *Network) Cut(from, to int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := link{from, to}
	if n.dropped[l]++; n.dropped[l] > 1 {
		return nil
	}
	return n.rule(l, true)
}

// Heal undoes one Cut.
func (n *Network) Heal(from, to int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := link{from, to}
	if n.dropped[l]--; n.dropped[l] > 0 {
		return nil
	}
	delete(n.dropped, l)
	return n.rule(l, false)
}

func (n *Network) rule(l link, cut bool) error {
	if !n.iptables { // A route of the sender drops this direction only.
		verb := map[bool]string{true: "add", false: "del"}[cut]
		_, err := run("ip", "-n", n.slot.namespace(l.from), "route", verb, "blackhole", n.IP(l.to)+"/32")
		return err
	}
	verb := map[bool]string{true: "-I", false: "-D"}[cut]
	_, err := n.runIn(l.to, "iptables", "-w", verb, "INPUT", "-s", n.IP(l.from), "-j", "DROP")
	return err
}

// Lose drops this share (0 to 1) of all packets between nodes at random; 0 ends that. REQUIRES: CanLose.
func (n *Network) Lose(share float64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.iptables {
		return errors.New("no iptables: packets cannot be lost at random")
	}
	var all []error
	for i := range n.nodes {
		for j := range n.nodes {
			if i == j {
				continue
			}
			if n.loss > 0 {
				all = append(all, n.lossRule("-D", i, j, n.loss))
			}
			if share > 0 {
				all = append(all, n.lossRule("-A", i, j, share))
			}
		}
	}
	n.loss = share
	return errors.Join(all...)
}

func (n *Network) lossRule(verb string, from, to int, share float64) error {
	_, err := n.runIn(to, "iptables", "-w", verb, "INPUT", "-s", n.IP(from), "-m", "statistic", "--mode", "random",
		"--probability", fmt.Sprintf("%.3f", share), "-j", "DROP")
	return err
}

// Connected returns how many nodes, i included, exchange packets with node i in both directions.
func (n *Network) Connected(i int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	reach := 1
	for j := range n.nodes {
		if j != i && n.dropped[link{i, j}] == 0 && n.dropped[link{j, i}] == 0 {
			reach++
		}
	}
	return reach
}

// Isolated reports whether no packet of node i reaches another node and no packet of another node reaches it.
func (n *Network) Isolated(i int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for j := range n.nodes {
		if j != i && (n.dropped[link{i, j}] == 0 || n.dropped[link{j, i}] == 0) {
			return false
		}
	}
	return n.nodes > 1
}

// runIn runs a tool in the namespace of node i.
func (n *Network) runIn(i int, name string, args ...string) (string, error) {
	return run("nsenter", append([]string{"--net=/run/netns/" + n.slot.namespace(i), "--", name}, args...)...)
}

// commands runs pairs of a program and its arguments, until one fails.
func commands(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if _, err := run(pairs[i], strings.Fields(pairs[i+1])...); err != nil {
			return err
		}
	}
	return nil
}
