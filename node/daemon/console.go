package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
)

// openConsole builds the console's service, makes the configured first admin, and starts the background work.
func (n *node) openConsole(start context.Context) (*console.Service, error) {
	address := n.cfg.ManageListen
	if n.manage != nil { // It is nil in a node that was started without its listeners.
		address = n.manage.Addr().String()
	}
	provider, access, err := n.provider(n.cfg.PublicURL(address))
	if err != nil {
		return nil, err
	}
	people, err := console.New(console.Config{
		PublicURL: n.cfg.PublicURL(address), Version: n.version, Demo: n.demoOptions != nil, Settings: n.consoleSettings(),
		Provider: provider, Access: access,
	}, console.Deps{
		Store: n.store, Watch: n.watch, Latencies: n.latencies, Tokens: n.core, Tail: n.tail, Draining: n.stopping.Load, Current: n.cluster.KeysCurrent, Now: time.Now, Log: n.log, Audit: n.auditLog.add,
	})
	if err != nil {
		return nil, err
	}
	if n.cfg.Admin.Email != "" {
		if err := n.ensureAdmin(start, people); err != nil {
			return nil, err
		}
	}
	n.console = people
	ctx, cancel := context.WithCancel(context.WithoutCancel(start))
	ended := make(chan struct{})
	go func() { defer close(ended); people.Run(ctx) }()
	n.push("console", func(context.Context) error { cancel(); <-ended; return nil })
	return people, nil
}

// watch begins to watch the auctions of a marketplace on this node.
func (n *node) watch(marketplace uint16) *serving.Watch { return n.core.Watch(marketplace) }

// latencies returns a function that returns the median and the 99th percentile of the requests for auctions since it was called last, and
// false without any.
func (n *node) latencies() func() (median, p99 time.Duration, known bool) {
	read := func() metrics.Latencies {
		return n.metrics.Latencies(int(serving.OpAuctions), int(serving.OpBrands), int(serving.OpTravel))
	}
	before := read()
	return func() (median, p99 time.Duration, known bool) {
		now := read()
		since := now.Since(&before)
		before = now
		median, known = since.Quantile(0.5)
		p99, _ = since.Quantile(0.99) // Known as the median is.
		return median, p99, known
	}
}

// consoleSettings are the effective settings in the form of the console.
func (n *node) consoleSettings() []console.Setting {
	all := make([]console.Setting, len(n.settings))
	for i, s := range n.settings {
		all[i] = console.Setting{Name: s.Key, Value: s.Value, Source: s.Source}
	}
	return all
}

// ensureAdmin makes the first admin from admin.email and admin.password_file. It changes nothing when there is or was an admin. It
// tries again while the cluster has no leader.
func (n *node) ensureAdmin(ctx context.Context, people *console.Service) error {
	text, err := os.ReadFile(n.cfg.Admin.PasswordFile)
	if err != nil {
		return fmt.Errorf("admin.password_file: %w", err)
	}
	password, _, _ := strings.Cut(string(text), "\n")
	password = strings.TrimSuffix(password, "\r")
	if err := login.CheckPassword(password); err != nil {
		return fmt.Errorf("admin.password_file: the first line of %s %w", n.cfg.Admin.PasswordFile, err)
	}
	waited := waitUntil(ctx, func() bool {
		err = people.EnsureAdmin(ctx, n.cfg.Admin.Email, password)
		return !errors.Is(err, store.ErrUnavailable)
	})
	if err := errors.Join(err, waited); err != nil {
		return fmt.Errorf("admin.email: make the first admin: %w", err)
	}
	return nil
}
