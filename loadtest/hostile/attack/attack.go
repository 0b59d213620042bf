// Package attack has the hostile clients of command hostile. Each attacks a node on loopback in a way that a security test found harmful, from
// several addresses, until its context ends, and counts what it did and what was answered.
//
// Every attacker is bounded in connections, in requests a second and in time. Attackers with a key have a marketplace of their own, so
// that what they write is not in the reports of the storefront that runs beside them.
package attack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tenant is the marketplace of an attacker, with its keys.
type Tenant struct {
	MarketplaceID string `json:"marketplaceId"`
	AuctionKey    string `json:"auctionKey"`
	ManagementKey string `json:"managementKey"`
}

// Target is the node under attack and what the attackers may use.
type Target struct {
	Auction, Manage, Peer string            // HOST:PORT of the three listeners.
	Tenants               map[string]Tenant // The marketplaces by name of the attacker.
	Connections           int               // How many connections the attacker idle keeps open on each listener.
	Quick                 bool              // Attacks are smaller, for a test of seconds.
}

// Check returns an error when a listener is not on loopback, because no attacker may leave the machine, or when the number of connections is
// out of range.
func (t *Target) Check() error {
	for _, address := range []string{t.Auction, t.Manage, t.Peer} {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().Is4() || !at.Addr().IsLoopback() {
			return fmt.Errorf("target %q: want an address of 127.0.0.0/8 with a port", address)
		}
	}
	if t.Connections < 1 || t.Connections > connectionsMax {
		return fmt.Errorf("connections %d: want 1 to %d", t.Connections, connectionsMax)
	}
	return nil
}

// connectionsMax bounds the connections to one listener. BOUND: twice what the security test needed.
const connectionsMax = 8_192

// Attacker is one hostile client. Its methods are never called at the same time.
type Attacker interface {
	// Prepare creates what the attack needs, before any attack begins, because a node that defends itself may refuse it later.
	Prepare(ctx context.Context, e *Env) error
	// Attack attacks until its context ends. It is called once for each window, and again when it returns an error.
	Attack(ctx context.Context, e *Env) error
}

// nothing is the preparation of an attacker that needs none.
type nothing struct{}

func (nothing) Prepare(context.Context, *Env) error { return nil }

// Kind is a kind of attacker: its name, how to make one, and what its counters must be at the end.
type Kind struct {
	Name   string
	Item   int      // The number of the finding that it was made for.
	Keyed  bool     // It needs a marketplace of its own.
	Must   []string // Counters that must be above 0 at the end, or the attack was not made.
	Breach []string // Counters that must be 0 at the end.
	new    func() Attacker
}

// Kinds returns all kinds of attackers.
func Kinds() []Kind {
	return []Kind{
		{"tokens", 1, true, []string{"sent"}, []string{"token of another vendor"}, func() Attacker { return &tokens{} }},
		{"idle", 2, false, []string{"opened 8080", "opened 8081", "opened peer"}, nil, func() Attacker { return idle{} }},
		{"schemas", 3, true, []string{"templates sent", "content sent"}, nil, func() Attacker { return &schemas{} }},
		{"bodies", 4, true, []string{"opened heads 8080", "opened heads 8081", "gzip bombs", "made-up tokens"}, nil, func() Attacker { return bodies{} }},
		{"changes", 5, true, []string{"acknowledged"}, nil, func() Attacker { return &changes{} }},
		{"peers", 6, false, []string{"opened"}, nil, func() Attacker { return peers{} }},
		{"uploads", 7, true, []string{"opened keyless", "opened segment"}, nil, func() Attacker { return uploads{} }},
		{"reports", 8, true, []string{"ids sent", "sent", "hung up"}, nil, func() Attacker { return &reports{} }},
		{"quota", 9, true, []string{"sent"}, nil, func() Attacker { return &quota{} }},
		{"framing", 11, true, []string{"sent"}, []string{"smuggled request served"}, func() Attacker { return framing{} }},
	}
}

// Named returns the kinds of these names; no name means all.
func Named(names []string) ([]Kind, error) {
	all := Kinds()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, k := range all {
		known = append(known, k.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no attacker %q; one of: %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(k Kind) bool { return !slices.Contains(names, k.Name) }), nil
}

// Env is what an attacker works with.
type Env struct {
	Target *Target
	Tenant Tenant
	Tally  *Tally
	From   *Sources
	API    *Client // A client of the management listener with connections from all addresses.
}

// Result is what one attacker did in all windows so far.
type Result struct {
	Name   string           `json:"name"`
	Item   int              `json:"item"`
	Counts map[string]int64 `json:"counts"`
	Marks  []string         `json:"marks,omitempty"`  // The marks of changes that were answered 2xx.
	Errors []string         `json:"errors,omitempty"` // The first unexpected errors and breaches.
}

// Set is a set of attackers with their counters.
type Set struct {
	members []member
}

type member struct {
	kind     Kind
	attacker Attacker
	env      *Env
}

// NewSet makes attackers of these names on a target; no name means all. It returns an error when the target or a name is wrong, or when an
// attacker has no marketplace that needs one.
func NewSet(t *Target, names []string) (*Set, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	kinds, err := Named(names)
	if err != nil {
		return nil, err
	}
	s := &Set{}
	for i, k := range kinds {
		tenant, has := t.Tenants[k.Name]
		if k.Keyed && !has {
			return nil, fmt.Errorf("attacker %s has no marketplace", k.Name)
		}
		from := NewSources(i)
		e := &Env{Target: t, Tenant: tenant, Tally: newTally(), From: from, API: NewClient(t.Manage, tenant.ManagementKey, from)}
		s.members = append(s.members, member{k, k.new(), e})
	}
	return s, nil
}

// Prepare prepares all attackers, one after the other.
func (s *Set) Prepare(ctx context.Context) error {
	for _, m := range s.members {
		if err := m.attacker.Prepare(ctx, m.env); err != nil {
			return fmt.Errorf("attacker %s: %w", m.kind.Name, err)
		}
	}
	return nil
}

// Attack runs all attackers for a time and returns when all of them have closed their connections.
func (s *Set) Attack(ctx context.Context, length time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var group sync.WaitGroup
	for _, m := range s.members {
		group.Go(func() {
			defer m.env.API.Close()
			for ctx.Err() == nil {
				if err := m.attacker.Attack(ctx, m.env); err != nil && ctx.Err() == nil {
					m.env.Tally.Add("attack interrupted", 1)
					m.env.Tally.note(err)
					pause(ctx, time.Second) // The node may be busy, so the attack begins again.
				}
			}
		})
	}
	group.Wait()
}

// Results returns the counters of all attackers.
func (s *Set) Results() []Result {
	var all []Result
	for _, m := range s.members {
		all = append(all, m.env.Tally.result(m.kind))
	}
	return all
}

// Tally counts by name. It may be used by several goroutines.
type Tally struct {
	mu     sync.Mutex
	counts map[string]int64
	marks  []string
	errors []string
}

func newTally() *Tally { return &Tally{counts: map[string]int64{}} }

// errorsMax bounds the errors that are kept.
const errorsMax = 5

// Add adds n to the counter of a name.
func (t *Tally) Add(name string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[name] += n
}

// setMax raises the counter of a name to n if it is smaller.
func (t *Tally) setMax(name string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[name] = max(t.counts[name], n)
}

// answered counts the outcome of an exchange by its status.
func (t *Tally) answered(status int, err error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		t.Add("no answer in time", 1)
	case err != nil:
		t.Add("cut off", 1)
	default:
		t.Add(fmt.Sprintf("status %d", status), 1)
	}
}

// mark records the mark of an acknowledged change.
func (t *Tally) mark(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks = append(t.marks, text)
}

// note keeps an error for the report.
func (t *Tally) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.errors) < errorsMax {
		t.errors = append(t.errors, err.Error())
	}
}

func (t *Tally) result(k Kind) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Result{k.Name, k.Item, maps.Clone(t.counts), slices.Clone(t.marks), slices.Clone(t.errors)}
}

// several runs n goroutines and waits for them.
func several(n int, do func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

// pause waits for a duration. It returns false at once when the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
