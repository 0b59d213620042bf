package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"time"

	"github.com/gavel-ads/gavel/bench/chart"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the page of a report shows.
type page struct {
	Title, Summary string
	Wrong          []string // Faults and missed targets.
	Points         []string // The heads of the columns of quantiles.
	Rows           []pageRow
	Ratio          string // Of the p99 to that of the bare server; empty without one.
	Charts         []template.HTML
	Text           string // The report as text.
}

type pageRow struct {
	Name     string
	Requests int64
	Values   []time.Duration
}

// writePage writes the report as one HTML page that loads nothing from elsewhere; without a file name it does nothing.
func (o *outcome) writePage(name string) error {
	if name == "" {
		return nil
	}
	p := page{
		Title: o.Scenario, Text: o.text(), Wrong: append(append([]string{}, o.Faults...), o.Missed...),
		Summary: fmt.Sprintf("%d requests in %v, %.0f a second, by %d workers. Seed %d.", o.Requests, o.Elapsed.Round(time.Millisecond),
			float64(o.Requests)/o.Elapsed.Seconds(), o.Workers, o.settings.seed),
	}
	if o.BareRatio > 0 {
		p.Ratio = fmt.Sprintf("%.2f", o.BareRatio)
	}
	for _, point := range points {
		p.Points = append(p.Points, point.name)
	}
	for _, k := range o.Kinds {
		row := pageRow{Name: k.Kind, Requests: k.Requests}
		for _, point := range points {
			row.Values = append(row.Values, rounded(k.Latency[point.name]))
		}
		p.Rows = append(p.Rows, row)
	}
	for _, c := range o.charts() {
		var svg bytes.Buffer
		if err := c.Write(&svg); err != nil {
			return err
		}
		p.Charts = append(p.Charts, template.HTML(svg.String())) //nolint:gosec // G203: the chart escapes its texts.
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &p); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// charts returns the plots of the page; one without points is left out.
func (o *outcome) charts() (all []*chart.Chart) {
	for _, c := range []*chart.Chart{
		o.percentiles(), o.latencies(), o.throughput(),
		o.usage("CPU of the nodes", "cores", func(from, to *usage, seconds float64) float64 { return (to.CPU - from.CPU) / seconds }),
		o.usage("Resident memory of the nodes", "MiB", func(_, to *usage, _ float64) float64 { return to.Memory / (1 << 20) }),
		o.usage("Pauses for garbage collection", "ms a second", func(from, to *usage, seconds float64) float64 {
			return 1_000 * (to.Pauses - from.Pauses) / seconds
		}),
	} {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}
