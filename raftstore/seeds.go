package raftstore

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	dnsPrefix = "dns:"
	seedsMax  = 64 // BOUND: number of Config.Seeds.
	// askedMax bounds the nodes that are asked at once. BOUND: a DNS name may resolve to any number of addresses.
	askedMax = 64
	// seedTimeout bounds the questions to seeds. It is shorter than controlTimeout, because a seed that is down must
	// not delay the others.
	seedTimeout = 2 * time.Second
)

// seeds returns the addresses of Config.Seeds as of now, without this node's own. A name that does not resolve
// contributes none.
func (s *Store) seeds(ctx context.Context) (addresses []string) {
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	for _, seed := range s.c.Seeds {
		name, dynamic := strings.CutPrefix(seed, dnsPrefix)
		if !dynamic {
			addresses = append(addresses, seed)
			continue
		}
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			continue // Cannot happen: Config.validate has checked it.
		}
		hosts, err := s.c.Resolve(ctx, host)
		if err != nil {
			s.c.Logger.Warn("seed_resolve_failed", slog.String("seed", seed), slog.Any("err", err))
		}
		for _, h := range hosts {
			addresses = append(addresses, net.JoinHostPort(h, port))
		}
	}
	return s.otherAddresses(addresses)
}

// otherAddresses returns the first askedMax of the sorted addresses, each once, without this node's own.
func (s *Store) otherAddresses(addresses []string) []string {
	slices.Sort(addresses)
	addresses = slices.DeleteFunc(slices.Compact(addresses), func(a string) bool { return a == "" || a == string(s.address) })
	return addresses[:min(len(addresses), askedMax)]
}

// askAll sends one question to several nodes side by side and returns the answers of those that gave one in
// seedTimeout.
func (s *Store) askAll(ctx context.Context, addresses []string, q question) (answers []answer) {
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, address := range addresses {
		all.Go(func() {
			a, err := s.ask(ctx, address, q)
			if err != nil || a.ProcessID == s.processID { // This process, by another of its addresses.
				return
			}
			mu.Lock()
			answers = append(answers, a)
			mu.Unlock()
		})
	}
	all.Wait()
	slices.SortFunc(answers, func(a, b answer) int { return strings.Compare(a.Address, b.Address) })
	return answers
}
