// Package managetest is the environment of tests of the management API: a management listener on real state, which is the engine's
// state machines, one per group, over memory in place of Raft and disk. Tests send it requests as clients do, in scripts of requests
// and expected answers.
package managetest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/logtail"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/operator"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// The marketplaces of every environment.
const (
	Main      = 1 // EUR, two digits.
	Other     = 2 // Another tenant, JPY, no digits.
	Suspended = 3
)

// PublicURL is the public URL of every environment.
const PublicURL = "http://gavel.test"

// Environment is a listener with all that it depends on.
type Environment struct {
	*manage.Server
	Store *store.Store
	// Console is the console's service of the listener that was built last.
	Console *console.Service
	Keys    map[string]string // By name: management, auction, other, suspended, expired; tokens for vendor nobody: modal, other-modal …
	Blobs   blob.Store
	// Bodies is the budget of bodies: 36 MiB for each marketplace, enough for one body of 8 MiB and its parsed values.
	Bodies *limits.Bytes
	// Slots are those of the listener that was built last: 10,000 requests under way, of one marketplace alone 5,000.
	Slots *limits.Slots
	// Offsite does the jobs of ad networks. The network meta is the sandbox; tests may add connectors before they use them.
	Offsite *jobs.Offsite
	// Tail is what the console shows as the log of the node. Only what a test writes is in it.
	Tail *logtail.Tail

	core       *serving.Core
	counts     sync.Map // "operation status" to true.
	config     manage.Config
	background *limits.Scheduler
	groups     *groups
	table      *auth.Table
	now        atomic.Int64
	log        lockedBuffer

	auditTo atomic.Pointer[func(marketplace uint16, e store.AuditEntry)]
}

// Start is the time of the clock of a new environment.
var Start = time.Date(2026, 3, 17, 9, 30, 0, 0, time.UTC)

// New builds an environment with four data groups and a rate limit that no test reaches.
func New(t testing.TB) *Environment {
	t.Helper()
	return NewWith(t, manage.Config{RateManagement: 1_000_000, RateCatalog: 1_000_000})
}

// NewWith builds an environment with a configuration.
func NewWith(t testing.TB, c manage.Config) *Environment {
	t.Helper()
	return build(t, c, nil, command.LevelNewest)
}

// NewBackground is NewWith with a scheduler for reports, explanations and forecasts. REQUIRES: they run one at a
// time, because a read of a group locks it.
func NewBackground(t testing.TB, c manage.Config, b *limits.Scheduler) *Environment {
	t.Helper()
	return build(t, c, b, command.LevelNewest)
}

// NewAt builds an environment whose groups are at a feature level, as in a cluster that has nodes of an older version.
func NewAt(t testing.TB, level command.Level) *Environment {
	t.Helper()
	return build(t, manage.Config{RateManagement: 1_000_000, RateCatalog: 1_000_000}, nil, level)
}

func build(t testing.TB, c manage.Config, b *limits.Scheduler, level command.Level) *Environment {
	t.Helper()
	w := &Environment{Keys: map[string]string{}, Tail: logtail.New(Start), table: auth.NewTable()}
	w.now.Store(Start.UnixMilli())
	f := &feed{Market: market.New(1), keys: w.table}
	w.groups = newGroups(t, f)
	w.Store = &store.Store{
		AssetURL: PublicURL, Groups: w.groups, Now: w.Now, View: f.View, Usage: f.Usage, AssetBytes: &f.bytes,
		Limits: store.Limits{Segments: 10_000, Keys: store.KeysMax}, // The limits that scripts expect; tests set others.

		InvitationTTL: 72 * time.Hour, // The default of invitations.ttl, which golden exchanges show.
	}
	w.bootstrap(t, level)

	duplicate := [32]byte{1}
	w.core = serving.New(serving.Deps{
		Keys: w.table, View: f.View, Topology: w.groups.Topology, Proposer: w.groups, Metrics: serving.NewMetrics(),
		Keyring:          func() *bidid.Keyring { return f.keyring.Load() },
		Secret:           func() *[32]byte { return &duplicate },
		Location:         func(m uint16) *time.Location { return store.Zone(f.View().Marketplace(m).TimeZone) },
		CatalogPrice:     w.Store.CatalogPrice,
		Level:            func(ids.Group) command.Level { return level },
		Frequency:        f,
		ExplainEvery:     1,
		Suppose:          f.WhatIfView,
		Started:          Start,
		ExternalCampaign: func(uint16, []byte) ids.UUID { return ids.UUID{} },
		Log:              slog.New(slog.NewTextHandler(&w.log, nil)), Node: 1, Epoch: 1, PublicURL: PublicURL,
	})
	c.PublicURL, c.AuctionURL, c.Version = cmp.Or(c.PublicURL, PublicURL), PublicURL+":8080", "test"
	files, err := blob.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() }) // The directory is removed anyway.
	w.Blobs = files
	w.Offsite = w.newOffsite()
	w.Bodies = limits.NewBytes(1<<30, 36<<20)
	w.config, w.background = c, b
	w.Server = w.listener(t, w.Store)
	return w
}

// Node returns another listener on the same state, as on another node of a cluster. It shares nothing else with the first.
func (w *Environment) Node(t testing.TB) *manage.Server {
	t.Helper()
	return w.NodeOn(t, w.groups)
}

// NodeOn is Node for a node that reads and writes the state through groups, which may stop it.
func (w *Environment) NodeOn(t testing.TB, groups store.Groups) *manage.Server {
	t.Helper()
	return w.listener(t, &store.Store{
		AssetURL: PublicURL, Groups: groups, Now: w.Now, View: w.Store.View, Usage: w.Store.Usage, AssetBytes: w.Store.AssetBytes, Limits: w.Store.Limits,
		InvitationTTL: w.Store.InvitationTTL,
	})
}

// NodeWithProvider is Node for a node through which people sign in with an identity provider.
func (w *Environment) NodeWithProvider(t testing.TB, p *login.Provider, access console.ProviderAccess) *manage.Server {
	t.Helper()
	return w.listenerOf(t, w.Store, console.Config{PublicURL: w.config.PublicURL, Version: w.config.Version, Provider: p, Access: access})
}

func (w *Environment) listener(t testing.TB, s *store.Store) *manage.Server {
	t.Helper()
	return w.listenerOf(t, s, console.Config{PublicURL: w.config.PublicURL, Version: w.config.Version})
}

func (w *Environment) listenerOf(t testing.TB, s *store.Store, c console.Config) *manage.Server {
	t.Helper()
	audit := func(m uint16, e store.AuditEntry) {
		if to := w.auditTo.Load(); to != nil {
			(*to)(m, e)
			return
		}
		err := s.Tenant(m).Audit(context.Background(), []store.AuditEntry{e})
		if err != nil && !errors.Is(err, store.ErrUnavailable) { // A node repeats it until there is a leader.
			panic(err)
		}
	}
	people, err := console.New(c, console.Deps{
		Store: s, Watch: w.core.Watch, Tokens: w.core, Tail: w.Tail, Now: w.Now, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Audit: audit,
		Hasher: login.NewHasherForTests(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Console = people
	w.Slots = limits.NewSlots(10_000)
	server, err := manage.New(w.config, manage.Deps{
		Bodies: w.Bodies, Slots: w.Slots, Console: people,
		Core: w.core, Keys: w.table, Blobs: w.Blobs, Networks: w.Offsite.Networks(), ReportJob: w.reportJob,
		Now: w.Now, Ready: func() string { return "" }, Background: w.background,
		Tenant:  s.Tenant,
		Audit:   audit,
		Count:   func(operation, status, _ string, _ time.Duration) { w.counts.Store(operation+" "+status, true) },
		Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		// A request that reaches the operator's handler is answered 404 without an error object.
		Operator: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }), OperatorRoutes: operator.Routes(),
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// BeforeNextCommand runs do right before the next command is applied, when its proposer has already read what the command is built on.
func (w *Environment) BeforeNextCommand(do func()) { w.groups.before.Store(&do) }

// Now is the time of the environment's clock.
func (w *Environment) Now() time.Time { return time.UnixMilli(w.now.Load()) }

// Advance moves the clock.
func (w *Environment) Advance(d time.Duration) { w.now.Add(d.Milliseconds()) }

// Core is the core that serves /v2.
func (w *Environment) Core() *serving.Core { return w.core }

// Counted reports whether a request of an operation was counted with a status.
func (w *Environment) Counted(operation, status string) bool {
	_, ok := w.counts.Load(operation + " " + status)
	return ok
}

// Log returns everything that was logged.
func (w *Environment) Log() string { return w.log.String() }

// bootstrap creates the marketplaces, their keys and the cluster's secrets, and starts the clocks of the groups.
func (w *Environment) bootstrap(t testing.TB, level command.Level) {
	t.Helper()
	now := w.now.Load()
	b := command.Bootstrap{
		Marketplace: marketplace(Main, "EUR", 2, now),
		Secrets:     command.Secrets{Duplicate: [32]byte{1}, Cursor: [32]byte{2}, Token: []command.TokenKey{{ID: 1, Key: [16]byte{3}}}},
	}
	entropy := rand.NewChaCha8([32]byte{4})
	var more []command.Record
	for _, k := range []struct {
		name        string
		kind        auth.Kind
		marketplace uint16
		expires     int64
	}{
		{"auction", auth.Auction, Main, 0},
		{"management", auth.Management, Main, 0},
		{"other", auth.Management, Other, 0},
		{"other-auction", auth.Auction, Other, 0},
		{"suspended", auth.Management, Suspended, 0},
		{"expired", auth.Management, Main, now - 1},
	} {
		key, err := auth.Generate(k.kind, entropy)
		if err != nil {
			t.Fatal(err)
		}
		w.Keys[k.name] = key.String()
		record := key.Record(k.name, k.marketplace, now, k.expires)
		more = append(more, store.KeyRecord(&record))
	}
	for name, of := range map[string]string{"modal": "management", "other-modal": "other", "suspended-modal": "suspended", "expired-modal": "expired"} {
		w.Keys[name] = w.ModalToken(of, "nobody")
	}
	meta := w.groups.Meta()
	w.must(t, meta, command.AppendBootstrap(nil, now, &b))
	other, suspended := marketplace(Other, "JPY", 0, now), marketplace(Suspended, "EUR", 2, now)
	suspended.Suspended = true
	w.must(t, meta, command.AppendPutMarketplace(nil, now, &other))
	w.must(t, meta, command.AppendPutMarketplace(nil, now, &suspended))
	w.must(t, meta, command.AppendPutRecords(nil, now, &command.PutRecords{Records: more}))

	at := time.UnixMilli(now).UTC()
	day := uint32(now / 86_400_000)
	var periods []command.Periods
	for m := range uint16(Suspended) {
		periods = append(periods, command.Periods{Marketplace: m + 1, Day: day, Week: (day + 3) / 7, Month: uint32(at.Year()*12 + int(at.Month()))})
	}
	for _, g := range w.groups.Groups() {
		w.must(t, g, command.AppendSetFeature(nil, now, command.SetFeature{Level: level}))
		if _, err := w.groups.Propose(t.Context(), g, command.AppendAdvance(nil, now, &command.Advance{Periods: periods})); err != nil {
			t.Fatal(err)
		}
	}
}

// ModalToken is a token for a vendor's page, as the holder of one of the environment's keys gets it.
func (w *Environment) ModalToken(key, vendor string) string {
	k, ok := auth.Parse([]byte(w.Keys[key]))
	if !ok {
		panic("the environment has no key " + key)
	}
	marketplace := map[string]uint16{"other": Other, "suspended": Suspended}[key]
	return auth.SignVendorToken([32]byte{2}, auth.VendorToken{Marketplace: max(Main, marketplace), Vendor: vendor, Key: k.ID}, w.Now())
}

func (w *Environment) must(t testing.TB, g ids.Group, cmd []byte) {
	t.Helper()
	raw, err := w.groups.Propose(t.Context(), g, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := command.ReadResult(raw); err != nil || r.Refusal != command.Done {
		t.Fatalf("the bootstrap failed: %+v, %v", r, err)
	}
}

func marketplace(ordinal uint16, currency string, exponent uint8, now int64) model.Marketplace {
	return model.Marketplace{
		Ordinal: ordinal, ID: ids.UUID{6: 0x70, 8: 0x80, 15: byte(ordinal)}, Name: currency,
		CurrencyCode: currency, CurrencyExponent: exponent, TimeZone: "UTC",
		ExternalDemand: model.ExternalDemand{OwnValue: "gavel"}, CreatedMillis: now, UpdatedMillis: now,
	}
}

// Dump is everything that the groups have stored.
func (w *Environment) Dump() string {
	w.groups.mu.Lock()
	defer w.groups.mu.Unlock()
	var text strings.Builder
	for _, g := range w.groups.Groups() {
		w.groups.machines[g].kv.Scan(nil, []byte{0xff}, func(key, value []byte) bool {
			text.Write(key)
			text.Write(value)
			return true
		})
	}
	return text.String()
}

// FailWrites makes every write fail until it is called again with false, as on a node without a leader.
func (w *Environment) FailWrites(down bool) {
	w.groups.down.Store(down)
	w.groups.counts.Store(false)
}

// FailWritesAfter makes every write except the next n fail, until FailWrites(false).
func (w *Environment) FailWritesAfter(n int64) { w.groups.left.Store(n); w.groups.counts.Store(true) }

// AuditTo passes completed audit entries to fn instead of writing them to the log at once.
func (w *Environment) AuditTo(fn func(marketplace uint16, e store.AuditEntry)) { w.auditTo.Store(&fn) }

// Written is the number of commands that were carried out so far.
func (w *Environment) Written() int64 { return w.groups.done.Load() }

// RecordCommands makes Commands return something.
func (w *Environment) RecordCommands() { w.groups.records.Store(true) }

// Commands returns the commands that were carried out since its last call, and since the last request of a script began. Before
// RecordCommands there are none.
func (w *Environment) Commands() [][]byte {
	w.groups.mu.Lock()
	defer w.groups.mu.Unlock()
	all := w.groups.commands
	w.groups.commands = nil
	return all
}

// PanicOnReads makes every read panic, as a defect would.
func (w *Environment) PanicOnReads() { w.groups.broken.Store(true) }
