package manage

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/auth"
)

// The windows of the two limits.
const (
	rateManagementWindow = 2 * time.Second
	rateCatalogWindow    = time.Second
)

// windowsMax is the most open windows. BOUND: 100,000 windows are about 15 MB. A window lasts for seconds, so only somebody
// with very many addresses can fill the table. Then windows are dropped early, which allows a few requests more.
const windowsMax = 100_000

// rate is a number of requests in a window; zero requests mean no limit.
type rate struct {
	requests int
	window   time.Duration
}

func (s *Server) managementRate() rate { return rate{s.config.RateManagement, rateManagementWindow} }
func (s *Server) catalogRate() rate    { return rate{s.config.RateCatalog, rateCatalogWindow} }

// clientKey is what a window counts: requests of an address with a key, those for the catalog separately. With a zero key it counts
// failed authentications.
type clientKey struct {
	address netip.Addr
	key     auth.ID
	catalog bool
}

// limiter counts requests in fixed windows that start with their first request. Each node counts its own requests.
//
// A token bucket would be smoother, but it has no window, whose end the interface reports in X-RateLimit-Reset.
type limiter struct {
	mu      sync.Mutex
	windows map[clientKey]*window
}

type window struct {
	ends  time.Time
	count int
}

func newLimiter() *limiter { return &limiter{windows: map[clientKey]*window{}} }

// rateResult is the result for one request.
type rateResult struct {
	rate      rate
	remaining int // Negative when the request is over the limit.
	ends      time.Time
	now       time.Time
}

// count counts a request in its window. For a rate without a limit the result is zero, which allows the request.
func (l *limiter) count(k clientKey, r rate, now time.Time) rateResult {
	if r.requests == 0 {
		return rateResult{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.windows[k]
	if w == nil || !now.Before(w.ends) {
		if w == nil {
			l.evict(now)
			w = &window{}
			l.windows[k] = w
		}
		*w = window{ends: now.Add(r.window)}
	}
	w.count = min(w.count+1, r.requests+1)
	return rateResult{rate: r, remaining: r.requests - w.count, ends: w.ends, now: now}
}

// evict drops closed windows when the table is full, and any window when all are open. LOCKS: mu is held.
func (l *limiter) evict(now time.Time) {
	if len(l.windows) < windowsMax {
		return
	}
	for k, w := range l.windows {
		if !now.Before(w.ends) {
			delete(l.windows, k)
		}
	}
	for k := range l.windows {
		if len(l.windows) < windowsMax {
			return
		}
		delete(l.windows, k)
	}
}

// headers sets the rate limit headers, and reports whether the request is within the limit.
func (v rateResult) headers(h http.Header) bool {
	if v.rate.requests == 0 {
		return true
	}
	h.Set("X-RateLimit-Limit", strconv.Itoa(v.rate.requests))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, v.remaining)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(ceilSeconds(v.ends.Sub(time.Unix(0, 0))), 10))
	if v.remaining >= 0 {
		return true
	}
	h.Set("Retry-After", strconv.FormatInt(max(1, ceilSeconds(v.ends.Sub(v.now))), 10))
	return false
}

func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
