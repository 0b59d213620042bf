package daemon

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/demo"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/node/tally"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

var _ demo.Past = (*past)(nil)

// past is a node without listeners and background work, whose clock is in the past. It serves what the history of a demo
// asks for with the same core, and commits it through the same groups, as any node.
type past struct {
	*node

	tenant        store.Tenant
	counts        *tally.Tally
	authorization []byte // Of the shoppers' requests.
	performed     demo.Performed
}

// newPast returns a node that will write the history of the demo into the directory of another one, which is not open yet.
func newPast(n *node) *past {
	cfg := n.cfg
	cfg.Explain.Sample, cfg.Log.Access, cfg.Log.Slow = 0, 0, 0 // What happened days ago is no recent traffic.
	p := &past{node: &node{
		cfg: cfg, log: n.log, version: n.version, demoOptions: n.demoOptions, startup: n.startup, blobs: n.blobs,
		out: n.out, screen: n.screen,
		clock: newPastClock(firstMidnight(time.Now(), n.demoOptions.HistoryDays, time.UTC)),
	}}
	p.resources.shares = n.resources.shares
	return p
}

// withoutRevocations makes keys count without a confirmation of the meta group (cluster.KeysCurrent), which would be too
// old after each step of the clock: this node is its only member, so nobody else can revoke a key.
func (p *past) withoutRevocations(context.Context) error {
	p.publisher.keys.RequireCurrent(func(time.Time) bool { return true })
	return nil
}

// waitForLevel waits until the groups know all commands, so that the history has whatever a later day has.
func (p *past) waitForLevel(ctx context.Context) error {
	return waitUntil(ctx, func() bool {
		for _, g := range p.topology.Groups() {
			if p.cluster.Level(g) < command.LevelNewest {
				return false
			}
		}
		return true
	})
}

// prepare finds the marketplace and the key of the shoppers.
func (p *past) prepare(ctx context.Context) error {
	first, err := p.demoMarketplace()
	if err != nil {
		return err
	}
	p.tenant = p.store.Tenant(first)
	key, err := p.shopperKey(ctx, p.tenant)
	p.authorization = []byte("Bearer " + key)
	p.counts = tally.New(p.tallyConfig())
	return err
}

// clocksOfGroups returns the times that the clocks of the groups have reached: the oldest and the newest one.
func (p *past) clocksOfGroups() (oldest, newest time.Time, err error) {
	for i, g := range p.topology.Groups() {
		var clock time.Time
		err = p.cluster.Read(g, func(r shard.Reader) error {
			clock = time.UnixMilli(shard.Queries{R: r}.Clock())
			return nil
		})
		if err != nil {
			return oldest, newest, err
		}
		if i == 0 || clock.Before(oldest) {
			oldest = clock
		}
		if clock.After(newest) {
			newest = clock
		}
	}
	return oldest, newest, nil
}

// BeginHour moves the clock, which begins budget periods, and credits the purchases of the hour before.
func (p *past) BeginHour(ctx context.Context, at time.Time) error {
	p.clock.moveTo(at)
	p.cluster.Tick(ctx)
	oldest, _, err := p.clocksOfGroups()
	if err == nil && oldest.Before(at) {
		err = fmt.Errorf("the clock of a group stays at %s", oldest.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return err
	}
	for _, g := range p.dataGroups() {
		if err := p.credit(ctx, g); err != nil {
			return fmt.Errorf("credit the purchases of group %d: %w", g, err)
		}
	}
	return nil
}

// credit credits the open purchases of a group.
func (p *past) credit(ctx context.Context, g ids.Group) error {
	for {
		closed, err := p.store.CreditPurchases(ctx, g)
		if closed == 0 || err != nil {
			return err
		}
	}
}

// Serve answers a request as the listeners do.
func (p *past) Serve(at time.Time, path string, body []byte) ([]byte, error) {
	sc := p.core.Acquire()
	defer sc.Release(0) // Nobody waits for the answer.
	sc.Request = serving.Request{
		Now: at, Method: []byte(http.MethodPost), Target: []byte(path), Authorization: p.authorization, Body: body,
	}
	p.core.Serve(sc)
	if sc.Status >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s answered %d: %s", path, sc.Status, sc.Body)
	}
	return bytes.Clone(sc.Body), nil
}

// EndHour reports the auctions of the hour.
func (p *past) EndHour(ctx context.Context, at time.Time) error {
	p.clock.moveTo(at)
	return p.counts.Report(ctx)
}
