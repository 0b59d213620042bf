// Package tracing sends traces of management requests and of commits to a collector, by the OpenTelemetry protocol over HTTP.
//
// A span of a request has the operation, the route's template and the status, never the path, a body, a key or an address: a
// collector is often read by more people than the node's log. A commit is a span of its own, below that of its request; events
// on the auction listener have the commit alone. Without a Tracer nothing is done and nothing costs.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config says where traces go and what is traced.
type Config struct {
	Endpoint      string // URL of the collector; without a path, /v1/traces is added.
	Every         int    // One of so many traces is sent, at least 1.
	Node, Version string
}

const (
	queueMax     = 2_048            // BOUND: spans that wait for the collector; further ones are dropped, so that nobody waits for it.
	sendInterval = 5 * time.Second  // How often waiting spans are sent.
	sendTimeout  = 10 * time.Second // BOUND: how long one message may take.
	failureEvery = time.Minute      // BOUND: one line about a collector that does not take traces in this time.
)

// Tracer makes spans and sends them in the background. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	spans    trace.Tracer
	parents  propagation.TraceContext
	failed   *failures
}

// New returns a tracer. It connects to the collector when it has something to send; a collector that is away is logged. The error
// says that the endpoint is not a URL.
func New(ctx context.Context, c Config, log *slog.Logger) (*Tracer, error) {
	target, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, err
	}
	if target.Path == "" || target.Path == "/" {
		target = target.JoinPath("v1", "traces")
	}
	// Nothing is repeated: the queue would fill with old spans while the collector is away.
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(target.String()), otlptracehttp.WithTimeout(sendTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}))
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	failed := &failures{log: log}
	otel.SetErrorHandler(failed)
	// A request that another service traces is sampled by the same rule: its sender cannot make this node send more.
	share := sdktrace.TraceIDRatioBased(1 / float64(max(c.Every, 1)))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(share, sdktrace.WithRemoteParentSampled(share))),
		sdktrace.WithBatcher(exporter, sdktrace.WithMaxQueueSize(queueMax), sdktrace.WithBatchTimeout(sendInterval), sdktrace.WithExportTimeout(sendTimeout)),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "gavel"), attribute.String("service.version", c.Version), attribute.String("service.instance.id", c.Node),
		)),
	)
	return &Tracer{provider: provider, spans: provider.Tracer("gavel"), failed: failed}, nil
}

// Close sends what waits and ends the tracer, within the deadline of ctx. What cannot be sent is logged and lost.
func (t *Tracer) Close(ctx context.Context) {
	if err := t.provider.Shutdown(ctx); err != nil {
		t.failed.Handle(err)
	}
}

// Request begins the span of a management request, below that of the caller when it sent one (W3C Trace Context). It returns the
// request with the span in its context, and the function that ends the span with the status of the answer.
func (t *Tracer) Request(r *http.Request, operation, route, requestID string) (traced *http.Request, end func(status int)) {
	ctx := t.parents.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.spans.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("http.route", route), attribute.String("gavel.request_id", requestID),
	))
	return r.WithContext(ctx), func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Commit begins the span of a command that a raft group commits. It returns the function that ends the span with the outcome.
func (t *Tracer) Commit(ctx context.Context, group, bytes int) (end func(error)) {
	_, span := t.spans.Start(ctx, "commit", trace.WithAttributes(attribute.Int("gavel.raft_group", group), attribute.Int("gavel.command_bytes", bytes)))
	return func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// failures logs that traces could not be sent, at most once in failureEvery.
type failures struct {
	log  *slog.Logger
	next atomic.Int64 // When the next line may be written, in Unix nanoseconds.
}

// Handle is called by OpenTelemetry.
func (f *failures) Handle(err error) {
	now, next := time.Now(), f.next.Load()
	if now.UnixNano() >= next && f.next.CompareAndSwap(next, now.Add(failureEvery).UnixNano()) {
		f.log.Warn("traces_not_sent", slog.Any("err", err))
	}
}
