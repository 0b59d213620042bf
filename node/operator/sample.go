package operator

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metricsMax is the most bytes that are read of a node's metrics. BOUND: five nodes of 30 groups have less than 1 MiB each.
const metricsMax = 16 << 20

// Sample is the metrics of a node at one time.
type Sample struct {
	At       time.Time
	Families map[string]*dto.MetricFamily
}

// Scrape reads the metrics of the node at the URL of a management listener; http:// may be omitted. It needs no key.
func Scrape(ctx context.Context, client *http.Client, url string) (*Sample, error) {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // It was read.
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the node answered %s", resp.Status)
	}
	return ReadSample(time.Now(), io.LimitReader(resp.Body, metricsMax))
}

// ReadSample reads metrics in Prometheus's text format.
func ReadSample(at time.Time, from io.Reader) (*Sample, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(from)
	if err != nil {
		return nil, fmt.Errorf("the metrics cannot be read: %w", err)
	}
	return &Sample{At: at, Families: families}, nil
}

// labels returns the series of a metric, by the value of a label; "" without one.
func (s *Sample) labels(metric, label string) map[string]float64 {
	all := map[string]float64{}
	for _, m := range s.Families[metric].GetMetric() {
		key := ""
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				key = l.GetValue()
			}
		}
		all[key] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
	}
	return all
}

// sum returns the sum of all series of a metric.
func (s *Sample) sum(metric string) (sum float64) {
	for _, v := range s.labels(metric, "") {
		sum += v
	}
	return sum
}

// interval is two samples of a node, the second later than the first.
type interval struct{ from, to *Sample }

func (i interval) seconds() float64 { return i.to.At.Sub(i.from.At).Seconds() }

// rate returns by how much the series of a counter grew a second. A node that was restarted begins at 0 again; what it
// counted since then is what is known.
func (i interval) rate(metric string) float64 {
	before, now := i.from.sum(metric), i.to.sum(metric)
	if now < before {
		before = 0
	}
	return (now - before) / i.seconds()
}

// rates is rate by the value of a label.
func (i interval) rates(metric, label string) map[string]float64 {
	before, all := i.from.labels(metric, label), map[string]float64{}
	for key, now := range i.to.labels(metric, label) {
		was := before[key]
		if now < was {
			was = 0
		}
		if now > was {
			all[key] = (now - was) / i.seconds()
		}
	}
	return all
}

// quantile returns the upper bound of the bucket of a histogram, all series together, below which the share q of the
// interval's observations lies; NaN without observations.
func (i interval) quantile(metric string, q float64) float64 {
	before, now := i.from.buckets(metric), i.to.buckets(metric)
	total := now[math.Inf(1)] - before[math.Inf(1)]
	if total <= 0 {
		return math.NaN()
	}
	least := math.Inf(1)
	for bound, count := range now {
		if count-before[bound] >= q*total {
			least = min(least, bound)
		}
	}
	return least
}

// buckets returns the cumulative counts of a histogram by upper bound, all series together.
func (s *Sample) buckets(metric string) map[float64]float64 {
	all := map[float64]float64{}
	for _, m := range s.Families[metric].GetMetric() {
		h := m.GetHistogram()
		for _, b := range h.GetBucket() {
			if !math.IsInf(b.GetUpperBound(), 1) {
				all[b.GetUpperBound()] += float64(b.GetCumulativeCount())
			}
		}
		all[math.Inf(1)] += float64(h.GetSampleCount())
	}
	return all
}
