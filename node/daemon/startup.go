package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/serving"
)

const (
	// reminderInterval is how often the log repeats what a start waits for.
	reminderInterval = 10 * time.Second
	// progressInterval is how often a terminal shows how far a start is.
	progressInterval = 500 * time.Millisecond
	// startupTimeout bounds how long a connection may take to send its request and to read the answer.
	startupTimeout = 5 * time.Second
	// startupConnsMax bounds the connections of each listener during the start. BOUND: each is for one short answer,
	// and the open files are needed by the store, which is opening.
	startupConnsMax = 16
	// retryAfterMax is the most seconds of a Retry-After. Values from 1 on are mixed, so that clients do not return at once.
	retryAfterMax = 3
)

// startupServer answers on both listeners until the node can serve, because a node may wait for its peers for any time.
// It answers /healthz with 200, and everything else with 503 and the reason why the node is not ready.
type startupServer struct {
	log     *slog.Logger
	screen  *screen
	loaded  func() int64 // The number of campaigns that were loaded so far.
	url     string       // Base URL of links in answers.
	cors    startupCORS
	reason  atomic.Pointer[string]
	detail  atomic.Pointer[string] // How far what reason names is, for a terminal; nil: unknown.
	servers []*http.Server
	ports   []startupPort
	stop    context.CancelFunc
	ended   sync.WaitGroup // Of logReminders.
}

// deadlineListener is a listener whose Accept can be ended with a deadline, without closing the listener.
type deadlineListener interface {
	net.Listener
	SetDeadline(at time.Time) error
}

// nonClosingListener is a listener whose Close only ends Accept, so that another server can use it afterwards.
type nonClosingListener struct{ deadlineListener }

// Close ends Accept with a deadline in the past; the port stays bound and new connections wait in its queue.
func (l nonClosingListener) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// startupPort is a listener of the node and its TLS settings; nil: plain HTTP.
type startupPort struct {
	deadlineListener
	secure *tls.Config
}

// bounded returns the listener for one server. Closing it leaves the port bound.
func (p startupPort) bounded(log *slog.Logger) net.Listener {
	l := ingress.NewListener(nonClosingListener{p.deadlineListener}, ingress.ListenerOptions{Name: "start", Max: startupConnsMax, Log: log})
	if p.secure == nil {
		return l
	}
	return ingress.NewTLSListener(l, p.secure)
}

// newStartupServer starts to answer on the listeners. REQUIRES: shutdown is called.
func newStartupServer(log *slog.Logger, screen *screen, loaded func() int64, url string, cors startupCORS,
	ports ...startupPort,
) *startupServer {
	w := &startupServer{log: log, screen: screen, loaded: loaded, url: url, cors: cors, ports: ports}
	w.setReason("opening the data directory")
	var remind context.Context
	remind, w.stop = context.WithCancel(context.Background())
	w.ended.Go(func() { w.logReminders(remind) })
	for _, p := range ports {
		server := &http.Server{
			Handler: w, ReadHeaderTimeout: startupTimeout, ReadTimeout: startupTimeout, WriteTimeout: startupTimeout,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), ConnState: ingress.HTTPConnState,
		}
		w.servers = append(w.servers, server)
		go func() {
			bounded := p.bounded(log)
			if err := server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
				log.Error("startup_listener_failed", slog.Any("err", err))
			}
		}()
	}
	return w
}

// setDetail sets how far what the start waits for is. Only a terminal shows it; the next reason removes it.
func (w *startupServer) setDetail(detail string) { w.detail.Store(&detail) }

// setReason sets what the start waits for, and logs it when it changed.
func (w *startupServer) setReason(reason string) {
	w.detail.Store(nil)
	if old := w.reason.Swap(&reason); old == nil || *old != reason {
		w.log.Info("start_waiting", slog.String("reason", reason))
	}
}

func (w *startupServer) logReminders(ctx context.Context) {
	ticker, shown := time.NewTicker(reminderInterval), time.NewTicker(progressInterval)
	defer ticker.Stop()
	defer shown.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.log.Info("start_still_waiting", slog.String("reason", *w.reason.Load()))
		case <-shown.C:
			w.screen.show(w.progress(time.Since(began)))
		}
	}
}

// progress returns what a terminal shows during the start.
func (w *startupServer) progress(since time.Duration) string {
	text := *w.reason.Load()
	if detail := w.detail.Load(); detail != nil {
		text += ", " + *detail
	}
	if n := w.loaded(); n > 0 {
		text += fmt.Sprintf(", %d campaigns loaded", n)
	}
	return fmt.Sprintf("%s (%.0f s)", text, since.Seconds())
}

// ServeHTTP answers one request, with the header fields that every answer of the node has.
func (w *startupServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	h := rw.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Request-Id", serving.RequestID(r.Header.Get("X-Request-Id"), time.Now()))
	h.Set("Connection", "close") // The next request is for the real server.
	if w.cors.set(h, r) && r.Method == http.MethodOptions {
		rw.WriteHeader(http.StatusNoContent) // Otherwise a browser would not send the request whose 503 the page has to see.
		return
	}
	status, body := http.StatusOK, []byte(`{"status":"ok"}`)
	if r.URL.Path != "/healthz" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		status, body = apierr.ServiceUnavailable.Status(), apierr.Append(nil, apierr.ServiceUnavailable, *w.reason.Load(), w.url)
		h.Set("Retry-After", strconv.Itoa(1+rand.IntN(retryAfterMax))) //nolint:gosec // jitter, no secret.
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	rw.WriteHeader(status)
	_, _ = rw.Write(body) // The client may have disconnected.
}

// shutdown waits for open requests and resets the listeners, so that the real servers can use them.
func (w *startupServer) shutdown(ctx context.Context) error {
	w.stop()
	w.ended.Wait()
	w.screen.show("")
	var failed []error
	for i, s := range w.servers {
		failed = append(failed, s.Shutdown(ctx), w.ports[i].SetDeadline(time.Time{}))
	}
	w.servers = nil
	return errors.Join(failed...)
}
