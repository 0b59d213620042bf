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
	seedsMax  = 64 // BOUND: of Config.Seeds.
	// askedMax bounds the nodes that are asked at once. BOUND: a name may resolve to anything.
	askedMax = 64
	// seedTimeout is shorter than controlTimeout: a seed that is down must not keep the others waiting.
	seedTimeout = 2 * time.Second
)

// seeds are the addresses of Config.Seeds as of now, without this node's own. A name that does not resolve is none.
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
			continue // Validated.
		}
		hosts, err := s.c.Resolve(ctx, host)
		if err != nil {
			s.c.Logger.Warn("a seed cannot be resolved", slog.String("seed", seed), slog.Any("err", err))
		}
		for _, h := range hosts {
			addresses = append(addresses, net.JoinHostPort(h, port))
		}
	}
	return s.others(addresses)
}

// others sorts addresses, each once, and leaves out this node's own.
func (s *Store) others(addresses []string) []string {
	slices.Sort(addresses)
	addresses = slices.DeleteFunc(slices.Compact(addresses), func(a string) bool { return a == "" || a == string(s.address) })
	return addresses[:min(len(addresses), askedMax)]
}

// askAll puts one question to several nodes side by side and returns the answers of those that gave one.
func (s *Store) askAll(ctx context.Context, addresses []string, q question) (answers []answer) {
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, address := range addresses {
		all.Go(func() {
			a, err := s.ask(ctx, address, q)
			if err != nil || a.Run == s.run { // Ourselves, by another name.
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
