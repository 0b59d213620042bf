package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

const (
	consolesGoal  = 1.02            // The goal: CPU time per auction request with the consoles open, divided by that without.
	settleTime    = 2 * time.Second // Between the opening or closing of consoles and a window.
	requestIDs    = 100             // Product ids of an auction.
	requestSlots  = 4
	requestBodies = 1_024 // BOUND: different bodies, about 6 MB.
)

// consoles measures what open consoles cost a node while it answers auctions at a fixed rate: all CPU time of the node, divided by the
// requests that it answered, in pairs of windows with the consoles open and closed, whose order alternates. It signs one admin in once for
// each console; the reads and streams are those of the pages.
func consoles(ctx context.Context, c *config, f *driver.Fleet, out io.Writer) error {
	pages, known := pagesOf(c.page, c.consoles)
	if !known {
		return fmt.Errorf("no page is named %q", c.page)
	}
	market := traffic.NewMarket(traffic.Small, 1)
	campaigns, err := shop.New(f.Nodes[0].Manage, f.ManagementKey).Fill(ctx, market, shop.Terms{BudgetMinor: 20_000_000_000, DepositMinor: 100_000_000_000}, "consoles")
	if err != nil {
		return err
	}
	today := time.Now().UTC()
	set, err := newConsoleSet(ctx, f.Nodes[0].Manage, pages, map[string]string{
		"campaign": campaigns[0].ID, "vendor": campaigns[0].VendorID,
		"today": today.Format(time.DateOnly), "month": today.AddDate(0, 0, -29).Format(time.DateOnly),
	})
	if err != nil {
		return err
	}
	l, err := startLoad(ctx, c, f, market)
	if err != nil {
		return err
	}
	m := &consoleMeasurement{window: c.duration, pid: f.Nodes[0].Pid, load: l, set: set}
	fmt.Fprintf(out, "%d consoles: %s\n%s auction requests a second (%s), windows of %v, load average %s before\n",
		len(pages), describe(pages), c.rate, c.shape, c.duration, load())
	err = m.run(ctx, c.pairs)
	if err := errors.Join(err, l.stop()); err != nil {
		return err
	}
	return m.print(out)
}

// auctionLoad sends auctions at a fixed rate to a node.
type auctionLoad struct {
	plan   driver.Plan
	bodies [][]byte
	start  time.Time

	next, answered atomic.Int64
	cancel         context.CancelCauseFunc
	ctx            context.Context
	workers        sync.WaitGroup
}

// maximumRun is longer than any measurement, which ends the load.
const maximumRun = 24 * time.Hour

// shopAuctions is how many auctions a request has, by the name of its shape.
var shopAuctions = map[string]int{"1x100": 1, "5x100": 5}

func startLoad(ctx context.Context, c *config, f *driver.Fleet, market *traffic.Market) (*auctionLoad, error) {
	plan, err := driver.ParsePlan(c.rate, maximumRun)
	if err != nil || !plan.Open() {
		return nil, errors.Join(err, errors.New("--rate has to be above 0"))
	}
	var products []string
	for _, p := range market.Products {
		products = append(products, p.ID)
	}
	generated := traffic.NewAuctions(products, 1, 1)
	l := &auctionLoad{plan: plan, start: time.Now()}
	for range requestBodies {
		l.bodies = append(l.bodies, generated.Append(nil, shopAuctions[c.shape], requestIDs, requestSlots))
	}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	for range c.workers {
		conn, err := driver.NewConn(f.Nodes[0].Auction, f.AuctionKey, visibleMax)
		if err != nil {
			return nil, errors.Join(err, l.stop())
		}
		l.workers.Go(func() {
			defer conn.Close()
			if err := l.send(conn); err != nil {
				l.cancel(err)
			}
		})
	}
	return l, nil
}

// send sends the requests that this worker takes until the load is stopped.
func (l *auctionLoad) send(conn *driver.Conn) error {
	for {
		i := l.next.Add(1) - 1
		due, more := l.plan.Due(i)
		if !more {
			return nil
		}
		time.Sleep(time.Until(l.start.Add(due)))
		if l.ctx.Err() != nil {
			return nil //nolint:nilerr // The load was stopped, which is no failure.
		}
		status, answer, err := conn.Post("/v2/auctions", l.bodies[int(i)%len(l.bodies)])
		if err != nil || status != 201 {
			return fmt.Errorf("an auction was answered %d %.200s: %w", status, answer, err)
		}
		l.answered.Add(1)
	}
}

// stop ends the load. Its error is the one that ended it before.
func (l *auctionLoad) stop() error {
	l.cancel(nil)
	l.workers.Wait()
	if err := context.Cause(l.ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// consoleMeasurement are the windows of a run.
type consoleMeasurement struct {
	window time.Duration
	pid    int
	load   *auctionLoad
	set    *consoleSet

	open, closed []consoleWindow // The pairs, by index.
}

// consoleWindow is what the node did in one window.
type consoleWindow struct {
	took, cpu                       time.Duration
	requests                        int64
	reads, messages, samples, bytes int64 // What the consoles were answered.
}

// perRequest is the CPU time of a request in microseconds.
func (w *consoleWindow) perRequest() float64 { return w.cpu.Seconds() * 1e6 / float64(w.requests) }

// busy is the share of a core that the node used.
func (w *consoleWindow) busy() float64 { return w.cpu.Seconds() / w.took.Seconds() }

// run measures a number of pairs.
func (m *consoleMeasurement) run(ctx context.Context, pairs int) error {
	for i := range pairs {
		for _, open := range []bool{i%2 == 0, i%2 != 0} {
			w, err := m.measure(ctx, open)
			if err != nil {
				return err
			}
			if open {
				m.open = append(m.open, w)
			} else {
				m.closed = append(m.closed, w)
			}
		}
	}
	return nil
}

// measure measures one window.
func (m *consoleMeasurement) measure(ctx context.Context, open bool) (w consoleWindow, err error) {
	if open {
		closeAll := m.set.open(ctx)
		defer func() { err = errors.Join(err, closeAll()) }()
	}
	if err := m.wait(settleTime); err != nil {
		return w, err
	}
	before, err := m.read()
	if err != nil {
		return w, err
	}
	start := time.Now()
	if err := m.wait(m.window); err != nil {
		return w, err
	}
	after, err := m.read()
	return consoleWindow{
		took: time.Since(start), cpu: after.cpu - before.cpu, requests: after.requests - before.requests, reads: after.reads - before.reads,
		messages: after.messages - before.messages, samples: after.samples - before.samples, bytes: after.bytes - before.bytes,
	}, err
}

// read returns the totals so far.
func (m *consoleMeasurement) read() (consoleWindow, error) {
	cpu, err := driver.RunTime(m.pid)
	o := m.set
	return consoleWindow{
		cpu: cpu, requests: m.load.answered.Load(),
		reads: o.reads.Load(), messages: o.messages.Load(), samples: o.samples.Load(), bytes: o.bytes.Load(),
	}, err
}

func (m *consoleMeasurement) wait(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-m.load.ctx.Done():
		return context.Cause(m.load.ctx)
	}
}

// print prints the windows and what follows from them.
func (m *consoleMeasurement) print(out io.Writer) error {
	var ratios, opened, closed, cost, rates []float64
	var reads, messages, samples, bytes, seconds float64
	for i := range m.open {
		o, c := &m.open[i], &m.closed[i]
		ratios = append(ratios, o.perRequest()/c.perRequest())
		opened, closed = append(opened, o.perRequest()), append(closed, c.perRequest())
		rate := float64(o.requests) / o.took.Seconds()
		rates = append(rates, rate)
		cost = append(cost, (o.perRequest()-c.perRequest())*rate/1e3)
		reads, messages, samples = reads+float64(o.reads), messages+float64(o.messages), samples+float64(o.samples)
		bytes, seconds = bytes+float64(o.bytes), seconds+o.took.Seconds()
		if _, err := fmt.Fprintf(out, "pair %2d: open %.3f us a request, closed %.3f us, ratio %.4f; the node used %.1f %% and %.1f %% of a core\n",
			i+1, o.perRequest(), c.perRequest(), ratios[i], 100*o.busy(), 100*c.busy()); err != nil {
			return err
		}
	}
	if messages+reads == 0 && len(m.set.pages) > 0 {
		return errors.New("the consoles were answered nothing, so nothing was measured")
	}
	result := "holds"
	if quantile(ratios, 0.5) > consolesGoal {
		result = "missed"
	}
	_, err := fmt.Fprintf(out, "CPU time of the node per auction request: open %s us, closed %s us\n"+
		"ratio: %s (goal: the median at most %.2f: %s)\n"+
		"the consoles cost %s ms of CPU a second, with %.2f reads, %.1f rates and %.1f samples a second, %.0f kB/s\n"+
		"%.0f requests were answered a second; at %.0f a second the consoles would cost 2 %%; load average %s after\n",
		spread(opened, "%.2f"), spread(closed, "%.2f"), spread(ratios, "%.4f"), consolesGoal, result, spread(cost, "%.2f"),
		reads/seconds, messages/seconds, samples/seconds, bytes/seconds/1e3,
		quantile(rates, 0.5), quantile(cost, 0.5)*1e3/(0.02*quantile(closed, 0.5)), load())
	return err
}

// spread prints the median of values, their quartiles, the least and the greatest.
func spread(values []float64, format string) string {
	return fmt.Sprintf("median "+format+", quartiles "+format+" to "+format+", all "+format+" to "+format,
		quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75), quantile(values, 0), quantile(values, 1))
}

// quantile returns the value that a share q of the values do not exceed, between two values in proportion; 0 without values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}
