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
	// remindEvery is how often the log repeats what a start waits for.
	remindEvery = 10 * time.Second
	// waitingHead bounds what a connection may send before it is answered, and how slowly.
	waitingHead = 5 * time.Second
	// waitingConns bounds the connections of a listener until the node is open. BOUND: each is for one short answer, and the files
	// belong to the store, which is opening.
	waitingConns = 16
)

// waiting stands in for both doors until they can open: a node may wait for its peers for as long as they take. It says that
// the process lives, that it is not ready and why, and answers everything else with 503.
type waiting struct {
	log     *slog.Logger
	url     string // Base of links in answers.
	reason  atomic.Pointer[string]
	servers []*http.Server
	ports   []port
	stop    context.CancelFunc
}

// port is a listener that can be made to give up an Accept without being closed.
type port interface {
	net.Listener
	SetDeadline(at time.Time) error
}

// loan is a port that is given back instead of being closed.
type loan struct{ port }

// Close ends Accept; the port stays bound and connections wait in its queue.
func (l loan) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// newWaiting answers on the ports. REQUIRES: end is called.
func newWaiting(log *slog.Logger, url string, ports ...port) *waiting {
	w := &waiting{log: log, url: url, ports: ports}
	w.say("the node is opening its data directory")
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
				log.Error("waiting_listener_failed", slog.Any("err", err))
			}
		}()
	}
	return w
}

// say sets what the start waits for.
func (w *waiting) say(reason string) {
	if old := w.reason.Swap(&reason); old == nil || *old != reason {
		w.log.Info("starting", slog.String("waits", reason))
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
			w.log.Info("still_starting", slog.String("waits", *w.reason.Load()))
		}
	}
}

// ServeHTTP answers one request.
func (w *waiting) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close") // The next request is for the real door.
	if r.URL.Path == "/healthz" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		_, _ = rw.Write([]byte(`{"status":"ok"}`)) // The prober may be gone.
		return
	}
	body := apierr.Append(nil, apierr.ServiceUnavailable, *w.reason.Load(), w.url)
	h.Set("Retry-After", "1")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	rw.WriteHeader(apierr.ServiceUnavailable.Status())
	_, _ = rw.Write(body)
}

// end finishes what is being answered and gives the ports back, to be served by the doors or closed.
func (w *waiting) end(ctx context.Context) error {
	w.stop()
	var failed []error
	for i, s := range w.servers {
		failed = append(failed, s.Shutdown(ctx), w.ports[i].SetDeadline(time.Time{}))
	}
	w.servers = nil
	return errors.Join(failed...)
}
