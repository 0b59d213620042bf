// Package pacing compares ways to spend advertising budgets on simulated days (gavel simulate). Its parts are packages:
// scenario generates a day, record reads one of a real node, policy holds the ways to spend, virtual runs a day, bound
// says what no policy can exceed, metric measures, and chart draws. README.md describes method, assumptions and limits.
//
// A comparison depends on its Options only: the same options give the same bytes.
package pacing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-ads/gavel/bench/pacing/metric"
	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// Options say what is compared.
type Options struct {
	Seeds []uint64
	// Day returns the day of a seed; number 0 is the measured day, 1 the one before, from which policies know what the
	// campaigns spend and how often they are clicked.
	Day      func(seed uint64, number int) (*scenario.Day, error)
	Virtual  virtual.Config // Hold and Unlimited are set by the comparison.
	Policies []string       // Names of policy.Kinds; empty: all.
	// Controller are the constants of the marketplace's controller.
	Controller Controller
	// Bound says whether the upper bound is computed; without it the metrics that need it are left out.
	Bound bool
	// Events are times of the day, in milliseconds, after which the report shows how spend returns to its plan; edits
	// of budgets are events of their campaigns in any case.
	Events []int64
	// Watch are ids of campaigns whose own results are reported.
	Watch []string
	// Jobs is how many seeds run at the same time; each needs about 100 MB for 400 campaigns.
	Jobs int
	// Progress is called after each run with the number of finished runs and of all, from one goroutine at a time. May
	// be nil.
	Progress func(done, all int)
}

// Controller are the constants of the marketplace's controller.
type Controller = controller.Params

// DefaultController returns the constants that nodes use.
func DefaultController() Controller { return controller.Defaults() }

// Report is the result of a comparison.
type Report struct {
	Seeds       []uint64  `json:"seeds"`
	Nodes       int       `json:"nodes"`
	LagMillis   int64     `json:"lagMillis"`
	Campaigns   int       `json:"campaigns"`
	Requests    []int     `json:"requests"`    // By seed.
	Constrained []int     `json:"constrained"` // By seed: the number of constrained campaigns.
	Bounds      []float64 `json:"bounds"`      // By seed: the upper bound of liquid welfare, in micros; 0 if not computed.
	Rows        []Row     `json:"rows"`
	// Example is the first seed, for charts.
	Example *Example `json:"-"`
}

// Row is one policy, with or without the hold.
type Row struct {
	Policy string `json:"policy"`
	Hold   bool   `json:"hold"`
	// Values holds by metric the value of each seed, Mean its mean and Difference that of the paired differences from
	// the first row. A metric that means nothing on a seed has no value there, and none at all if on no seed.
	Values     map[string][]*float64      `json:"values"`
	Mean       map[string]metric.Interval `json:"mean"`
	Difference map[string]metric.Interval `json:"difference,omitempty"`
	// Recovery says how spend returned to its plan after the events of all seeds; nil without an event.
	Recovery *Recovery `json:"recovery,omitempty"`
	// Watched holds the results of the campaigns of Options.Watch, means over the seeds.
	Watched []Watched `json:"watched,omitempty"`
}

// Watched is what one campaign got under one policy.
type Watched struct {
	ID     string          `json:"id"`
	Budget metric.Interval `json:"budget"` // In units of the currency, as is Billed.
	Billed metric.Interval `json:"billed"`
	Wins   metric.Interval `json:"wins"`
	Clicks metric.Interval `json:"clicks"`
}

// Recovery sums up what followed the events of a comparison.
type Recovery struct {
	Minutes *float64 `json:"minutes"` // Until spend stays within 10 % of the plan for a quarter of an hour; nil: not in three hours.
	Worst   *float64 `json:"worst"`   // Spend of the worst five minutes as a multiple of the plan.
	// Ratios holds spend / plan of each five minutes after the events.
	Ratios []*float64 `json:"ratios"`
}

// Name returns the name of the row.
func (r *Row) Name() string {
	if r.Hold && !ownHold(r.Policy) {
		return r.Policy + " + hold"
	}
	return r.Policy
}

// Example is what charts show: the outcomes of one seed by row.
type Example struct {
	Day      *metric.Day
	Outcomes []*virtual.Outcome
}

// variant is a policy with or without the hold.
type variant struct {
	kind policy.Kind
	hold bool
}

// ownHold reports whether a policy keeps the hold itself; it is not measured without.
func ownHold(name string) bool { return strings.HasPrefix(name, policy.Controller) }

// variants returns the rows of a comparison.
func (o *Options) variants() ([]variant, error) {
	all := policy.Kinds()
	for _, name := range o.Policies {
		if !slices.ContainsFunc(all, func(k policy.Kind) bool { return k.Name == name }) {
			return nil, fmt.Errorf("%q is no policy; the policies are %s", name, strings.Join(Names(), ", "))
		}
	}
	var rows []variant
	for _, k := range all {
		if len(o.Policies) > 0 && !slices.Contains(o.Policies, k.Name) {
			continue
		}
		if !ownHold(k.Name) {
			rows = append(rows, variant{k, false})
		}
		rows = append(rows, variant{k, true})
	}
	return rows, nil
}

// Names returns the names of all policies.
func Names() []string {
	var names []string
	for _, k := range policy.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Compare runs every policy on the day of every seed. It returns the error of ctx if that ends first.
func Compare(ctx context.Context, o *Options) (*Report, error) {
	rows, err := o.variants()
	if err != nil {
		return nil, err
	}
	if err := o.Virtual.Validate(); err != nil {
		return nil, err
	}
	if len(o.Seeds) == 0 {
		return nil, errors.New("no seed")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &comparison{options: o, rows: rows, results: make([]seedResult, len(o.Seeds)), cancel: cancel}
	c.all = len(o.Seeds) * (len(rows) + preparations)
	seeds := make(chan int)
	var workers sync.WaitGroup
	for range max(1, o.Jobs) {
		workers.Go(func() {
			for i := range seeds {
				if err := c.seed(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range o.Seeds {
		seeds <- i
	}
	close(seeds)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c.report(), nil
}

// comparison is a running comparison.
type comparison struct {
	options *Options
	rows    []variant
	results []seedResult
	cancel  context.CancelCauseFunc
	all     int

	mu   sync.Mutex
	done int
}

// step counts a finished run.
func (c *comparison) step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if c.options.Progress != nil {
		c.options.Progress(c.done, c.all)
	}
}
