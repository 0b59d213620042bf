package membership

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/raftstore/control"
)

const (
	// DNSPrefix begins a seed that stands for all addresses of a name.
	DNSPrefix = "dns:"
	// SeedsMax bounds the number of Config.Seeds.
	SeedsMax = 64
	// askedMax bounds the nodes that are asked at once. BOUND: a DNS name may resolve to any number of addresses.
	askedMax = 64
	// SeedTimeout bounds the questions to seeds. It is shorter than control.Timeout, because a seed that is down must
	// not delay the others.
	SeedTimeout = 2 * time.Second
)

// Peers finds and asks other nodes. Its methods are safe for concurrent use.
type Peers struct {
	c       Config
	self    control.Peer
	address string // Where peers dial this node.
	port    *control.Port
}

// NewPeers returns the peers of a node that others dial at address. self is what port says of this node.
func NewPeers(c Config, self control.Peer, address string, port *control.Port) *Peers {
	return &Peers{c: c, self: self, address: address, port: port}
}

// seeds returns the addresses of Config.Seeds as of now, without this node's own. A name that does not resolve
// contributes none.
func (p *Peers) seeds(ctx context.Context) (addresses []string) {
	ctx, cancel := context.WithTimeout(ctx, SeedTimeout)
	defer cancel()
	for _, seed := range p.c.Seeds {
		name, dynamic := strings.CutPrefix(seed, DNSPrefix)
		if !dynamic {
			addresses = append(addresses, seed)
			continue
		}
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			continue // Cannot happen: Config.validate has checked it.
		}
		hosts, err := p.c.Resolve(ctx, host)
		if err != nil {
			p.c.Logger.Warn("seed_resolve_failed", slog.String("seed", seed), slog.Any("err", err))
		}
		for _, h := range hosts {
			addresses = append(addresses, net.JoinHostPort(h, port))
		}
	}
	return p.others(addresses)
}

// others returns the first askedMax of the sorted addresses, each once, without this node's own.
func (p *Peers) others(addresses []string) []string {
	slices.Sort(addresses)
	addresses = slices.DeleteFunc(slices.Compact(addresses), func(a string) bool { return a == "" || a == p.address })
	return addresses[:min(len(addresses), askedMax)]
}

// greeted is a greeting and who gave it.
type greeted struct {
	greeting
	Node string
}

// helloAll says hello to several nodes side by side and returns the greetings of those that answered in SeedTimeout.
func (p *Peers) helloAll(ctx context.Context, addresses []string, q hello) (answers []greeted) {
	ctx, cancel := context.WithTimeout(ctx, SeedTimeout)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, address := range addresses {
		all.Go(func() {
			a, by, err := sayHello.Ask(ctx, p.port, address, q)
			if err != nil || by.Process == p.self.Process { // This process, by another of its addresses.
				return
			}
			mu.Lock()
			answers = append(answers, greeted{a, by.Node})
			mu.Unlock()
		})
	}
	all.Wait()
	slices.SortFunc(answers, func(a, b greeted) int { return strings.Compare(a.Address, b.Address) })
	return answers
}
