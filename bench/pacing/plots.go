package pacing

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gavel-ads/gavel/bench/chart"
	"github.com/gavel-ads/gavel/bench/pacing/metric"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
)

// plotted are the rows that charts show, if they were measured: more lines than this hide each other.
var plotted = []string{"gavel", "none + hold", "ptr + hold", "pid-bid + hold", "mirror-descent + hold"}

// sizes are the classes of budgets by the clicks that they pay for.
var sizes = []struct {
	name     string
	from, to float64
}{{"small", 5, 30}, {"medium", 30, 300}, {"large", 300, math.Inf(1)}}

// WritePlots writes the charts of the first seed into a directory: for a typical campaign of each size its spend
// against the plan and its pacing, and for all constrained campaigns the distance from the plan by size.
func (r *Report) WritePlots(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	charts := map[string]*chart.Chart{"ks.svg": r.distances()}
	for _, size := range sizes {
		if i, ok := r.Example.typical(size.from, size.to); ok {
			charts["spend-"+size.name+".svg"] = r.spend(i)
			charts["pacing-"+size.name+".svg"] = r.pacing(i)
		}
	}
	for name, c := range charts {
		var b bytes.Buffer
		if err := c.Write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// typical returns the constrained campaign of a size with the median number of clicks.
func (e *Example) typical(from, to float64) (campaign int, ok bool) {
	var all []int
	for _, i := range e.Day.Constrained {
		if clicks := e.Day.Day.Campaigns[i].Clicks(); clicks >= from && clicks < to {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, y := e.Day.Day.Campaigns[a].Clicks(), e.Day.Day.Campaigns[b].Clicks()
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return all[len(all)/2], true
}

// shown calls a function for each row that charts show.
func (r *Report) shown(each func(row *Row, o *virtual.Outcome)) {
	for _, name := range plotted {
		for i := range r.Rows {
			if r.Rows[i].Name() == name {
				each(&r.Rows[i], r.Example.Outcomes[i])
			}
		}
	}
}

// describe names a campaign.
func (e *Example) describe(i int) string {
	c := &e.Day.Day.Campaigns[i]
	kind := "clicks"
	if c.Banner {
		kind = "clicks, paid by impression"
	}
	name := c.ID
	if name == "" {
		name = fmt.Sprint("number ", i)
	}
	return fmt.Sprintf("campaign %s, budget of about %.0f %s", name, c.Clicks(), kind)
}

func hours(title string) chart.Axis {
	return chart.Axis{Title: title, Max: 24, Ticks: []float64{0, 4, 8, 12, 16, 20, 24}}
}

func shares(title string, most float64, ticks ...float64) chart.Axis {
	return chart.Axis{Title: title, Max: most, Ticks: ticks, Format: chart.Percent}
}

// everyMinutes is the distance of the points of a curve.
const everyMinutes = 5

// spend draws the billed spend of a campaign against the plan.
func (r *Report) spend(i int) *chart.Chart {
	c := &chart.Chart{
		Title: "Spend against plan", Subtitle: r.Example.describe(i),
		X: hours("hour of the day"), Y: shares("billed, share of the budget", 1.02, 0, 0.25, 0.5, 0.75, 1),
	}
	plan := chart.Series{Name: "plan (actual traffic)", Dashed: true}
	for minute, share := range r.Example.Day.Traffic(i) {
		if minute%everyMinutes == 0 {
			plan.Points = append(plan.Points, chart.Point{X: float64(minute) / 60, Y: share})
		}
	}
	c.Series = append(c.Series, plan)
	r.shown(func(row *Row, o *virtual.Outcome) {
		s := chart.Series{Name: row.Name()}
		for minute := 0; minute < o.Minutes; minute += everyMinutes {
			s.Points = append(s.Points, chart.Point{X: float64(minute) / 60, Y: float64(o.BilledAt[i][minute]) / float64(o.Budget[i])})
		}
		c.Series = append(c.Series, s)
	})
	return c
}

// pacing draws by how much pacing lowers the bids of a campaign: the bid factor times the root of the probability to
// compete, because spend grows with the square of the one and in proportion to the other.
func (r *Report) pacing(i int) *chart.Chart {
	c := &chart.Chart{
		Title: "Pacing", Subtitle: r.Example.describe(i) + "; factor x root of the probability to compete",
		X: hours("hour of the day"),
		Y: chart.Axis{Title: "effective bid factor", Min: 0.01, Max: 1.1, Log: true, Ticks: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1}},
	}
	r.shown(func(row *Row, o *virtual.Outcome) {
		s := chart.Series{Name: row.Name()}
		for minute := 0; minute < o.Minutes; minute += everyMinutes {
			factor := float64(o.Multiplier[i][minute]) * math.Sqrt(float64(o.Pass[i][minute]))
			s.Points = append(s.Points, chart.Point{X: float64(minute) / 60, Y: factor})
		}
		c.Series = append(c.Series, s)
	})
	return c
}

// distances draws the distance of each constrained campaign from its plan by the size of its budget.
func (r *Report) distances() *chart.Chart {
	c := &chart.Chart{
		Title:    "Distance from the plan by budget size",
		Subtitle: "constrained campaigns; largest distance of billed/budget from the share of the traffic",
		X:        chart.Axis{Title: "budget in clicks a day", Min: 4, Max: 3000, Log: true, Ticks: []float64{5, 10, 30, 100, 300, 1000, 3000}},
		Y:        shares("KS distance", 1, 0, 0.2, 0.4, 0.6, 0.8, 1),
	}
	noise := chart.Series{Name: "random arrivals", Dashed: true}
	for clicks := 4.; clicks < 3000; clicks *= 1.2 {
		noise.Points = append(noise.Points, chart.Point{X: clicks, Y: metric.OpenLoop(clicks)})
	}
	c.Series = append(c.Series, noise)
	shown := 0
	r.shown(func(row *Row, o *virtual.Outcome) {
		if shown++; shown > distancesMax {
			return
		}
		s := chart.Series{Name: row.Name(), Dots: true}
		for _, i := range r.Example.Day.Constrained {
			s.Points = append(s.Points, chart.Point{X: r.Example.Day.Day.Campaigns[i].Clicks(), Y: r.Example.Day.KS(o, i)})
		}
		c.Series = append(c.Series, s)
	})
	return c
}

// distancesMax is the number of rows in the chart of distances.
const distancesMax = 3
