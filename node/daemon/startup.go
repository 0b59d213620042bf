package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/connections"
)

const (
	// reminderInterval is how often the log repeats what a start waits for.
	remindEvery = 10 * time.Second
	// startupTimeout bounds how long a connection may take to send its request and to read the answer.
	waitingHead = 5 * time.Second
	// startupConnsMax bounds the connections of each listener during the start. BOUND: each is for one short answer,
	// and the open files are needed by the store, which is opening.
	waitingConns = 16
)

// startupServer answers on both listeners until the node can serve, because a node may wait for its peers for any time.
// It answers /healthz with 200, and everything else with 503 and the reason why the node is not ready.
type waiting struct {
	log     *slog.Logger
	url     string // Base URL of links in answers.
	reason  atomic.Pointer[string]
	servers []*http.Server
	ports   []port
	stop    context.CancelFunc
}

// deadlineListener is a listener whose Accept can be ended with a deadline, without closing the listener.
type port interface {
	net.Listener
	SetDeadline(at time.Time) error
}

// nonClosingListener is a listener whose Close only ends Accept, so that another server can use it afterwards.
type loan struct{ port }

// Close ends Accept with a deadline in the past; the port stays bound and new connections wait in its queue.
func (l loan) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// newStartupServer starts to answer on the listeners. REQUIRES: shutdown is called.
func newWaiting(log *slog.Logger, url string, ports ...port) *waiting {
	w := &waiting{log: log, url: url, ports: ports}
	w.say("opening the data directory")
	var remind context.Context
	remind, w.stop = context.WithCancel(context.Background())
	go w.remind(remind)
	for _, p := range ports {
		server := &http.Server{
			Handler: w, ReadHeaderTimeout: waitingHead, ReadTimeout: waitingHead, WriteTimeout: waitingHead,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), ConnState: connections.OfHTTP,
		}
		w.servers = append(w.servers, server)
		go func() {
			bounded := connections.New(loan{p}, connections.Options{Name: "start", Max: waitingConns, Log: log})
			if err := server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
				log.Error("startup_listener_failed", slog.Any("err", err))
			}
		}()
	}
	return w
}

// setReason sets what the start waits for, and logs it when it changed.
func (w *waiting) say(reason string) {
	if old := w.reason.Swap(&reason); old == nil || *old != reason {
		w.log.Info("start_waiting", slog.String("reason", reason))
	}
}

func (w *waiting) remind(ctx context.Context) {
	ticker := time.NewTicker(remindEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.log.Info("start_still_waiting", slog.String("reason", *w.reason.Load()))
		}
	}
}

// ServeHTTP answers one request.
func (w *waiting) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close") // The next request is for the real server.
	if r.URL.Path == "/healthz" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		_, _ = rw.Write([]byte(`{"status":"ok"}`)) // The client may be gone.
		return
	}
	body := apierr.Append(nil, apierr.ServiceUnavailable, *w.reason.Load(), w.url)
	h.Set("Retry-After", "1")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	rw.WriteHeader(apierr.ServiceUnavailable.Status())
	_, _ = rw.Write(body)
}

// shutdown waits for open requests and resets the listeners, so that the real servers can use them.
func (w *waiting) end(ctx context.Context) error {
	w.stop()
	var failed []error
	for i, s := range w.servers {
		failed = append(failed, s.Shutdown(ctx), w.ports[i].SetDeadline(time.Time{}))
	}
	w.servers = nil
	return errors.Join(failed...)
}
