// Package metrics holds every Prometheus metric of the node: its name, help and labels once, in the table of
// definitions.go, and handles that are resolved before there is traffic.
//
// No label carries an id, a name or any other text of a client: label values come from tables of this program, so the
// number of series is fixed when it is built. What an operator numbers or names is bounded, too: groups and members by
// the size of a cluster, marketplaces by the collectors, currencies by currenciesMax. The packages that own the label values (operations, error codes,
// loss reasons, event outcomes) pass them as a Vocabulary; this package imports none of them.
package metrics

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Vocabulary is the set of label values. A counter is addressed by positions in these lists.
type Vocabulary struct {
	Operations []string // Operations of /v2.
	Codes      []Code   // Codes of answers; position 0 is success.
	Reasons    []string // Reasons why bids lose.
	EventKinds []string
	Outcomes   []string // Outcomes of events.
}

// Code is a code that an answer can have.
type Code struct {
	Name   string
	Status string // HTTP status as text; empty at position 0, where the operation decides (see SuccessStatus).
}

// Metrics is the registry of one node. It is safe for concurrent use.
type Metrics struct {
	registry   *prometheus.Registry
	layout     layout
	stripes    []Stripe
	nextStripe atomic.Uint32
	created    time.Time
	status     []string // HTTP status of success, by operation.
	management management
	node       atomic.Pointer[func() Node]
}

// New returns the metrics of a node. successStatus is the HTTP status of success of every operation of the vocabulary.
func New(v Vocabulary, successStatus []string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), layout: newLayout(v), status: successStatus,
		created: time.Now(), management: newManagement(),
	}
	m.stripes = newStripes(&m.layout)
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.management.requests, m.management.seconds,
		(*traffic)(m), (*nodeCollector)(m),
	)
	return m
}

// SetBuild reports the version of the binary. It may be called once.
func (m *Metrics) SetBuild(version string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "gavel_build_info", Help: "Always 1; the labels are the version of the gavel binary and the version of Go that built it.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build)
}

// Handler serves the metrics in the formats that Prometheus accepts.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Registry returns the registry, for tests and for packages with collectors of their own.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Stripe returns the counters for the next worker. A worker uses the same stripe all the time.
func (m *Metrics) Stripe() *Stripe {
	return &m.stripes[(m.nextStripe.Add(1)-1)%stripeCount]
}

// Answered returns how many requests on /v2 were answered with success. The number only grows.
func (m *Metrics) Answered() (n uint64) {
	for operation := range m.layout.v.Operations {
		n += sum(m.stripes, m.layout.requests+operation*len(m.layout.v.Codes))
	}
	return n
}

// management counts the requests of the management listener, where the cost of a map look-up per request does not
// matter.
type management struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// managementBounds are the bounds in seconds of the durations of management requests.
var managementBounds = []float64{.000_5, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20}

func newManagement() management {
	return management{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: managementRequests.name, Help: managementRequests.help,
		}, managementRequests.labels),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: managementSeconds.name, Help: managementSeconds.help,
			Buckets:                     managementBounds,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
		}, managementSeconds.labels),
	}
}

// ManagementRequest counts a request of the management listener. Its id becomes the exemplar of the bucket, which leads from a
// slow point of a graph to the log and the trace of a request. REQUIRES: operation is a name from the operation table, never a
// path, and a request id has at most 64 characters.
func (m *Metrics) ManagementRequest(operation, status, requestID string, took time.Duration) {
	m.management.requests.WithLabelValues(operation, status).Inc()
	seconds := m.management.seconds.WithLabelValues(operation).(prometheus.ExemplarObserver) //nolint:forcetypeassert // Every histogram is one.
	seconds.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"request_id": requestID})
}
