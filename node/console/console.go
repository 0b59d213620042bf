// Package console is the service behind the web console: it serves the pages, signs people in, and decides what a role may do. The
// pages use the operations of /public/v1, which the management listener mounts a second time below /console/api/v1 and lets in by
// Identify; a cookie opens nothing else. DESIGN.md has the reasons.
package console

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/logtail"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// Base is the path below which everything of the console lies.
const Base = "/console"

// Paths of the pages that links lead to. The token follows as the fragment, which browsers send to no server, so it is in no log.
const setupPage = Base + "/setup#token="

// Config holds what the operator configured.
type Config struct {
	PublicURL string // Of the management listener, without a final slash. With https, cookies are sent over TLS alone.
	Version   string
	Demo      bool // The market is the demo's.
	Settings  []Setting
	// Provider is the identity provider through which people sign in, nil without one. Its redirect address ends with ProviderCallback.
	Provider *login.Provider
	Access   ProviderAccess
}

// Deps are the parts of the node behind the console.
type Deps struct {
	Store *store.Store
	// Watch begins to watch the auctions of a marketplace on this node.
	Watch func(marketplace uint16) *serving.Watch
	// Latencies returns a function that returns how long the requests for auctions took, of all marketplaces of this node, since it was
	// called last: the median and the 99th percentile, and false without any. If nil, nothing is known of them.
	Latencies func() func() (median, p99 time.Duration, known bool)
	// Tokens opens the resolvedBidIds of ads.
	Tokens Tokens
	// Tail has the newest records of this node's log. If nil, there are none.
	Tail *logtail.Tail
	// Draining reports whether the node is about to stop, so that live streams end. It may be nil.
	Draining func() bool
	// Current reports whether this node may decide about credentials at a time, because it knows what was revoked. If nil, always.
	Current func(at time.Time) bool
	Now     func() time.Time
	Log     *slog.Logger
	// Hasher makes and checks the hashes of passwords. If nil, login.NewHasher does; tests use cheaper hashes.
	Hasher *login.Hasher
	// Audit writes an entry of the audit log as it is at the end of its request. It may be nil.
	Audit func(marketplace uint16, e store.AuditEntry)
}

// Service is the console's service. It is safe for concurrent use.
type Service struct {
	config   Config
	deps     Deps
	attempts *login.Attempts
	// byProvider are the attempts through the identity provider. They are counted apart, because an attempt with a password names any
	// text as the account, also one that stands for somebody else's address here.
	byProvider *login.Attempts
	origins    *http.CrossOriginProtection
	touches    chan store.LoginKey
	files      *files
	hub        *hub

	logStreams atomic.Int32
}

// touchesMax is how many sessions may wait for the time of their last request to be recorded. BOUND: beyond it the next request of
// the session records the time.
const touchesMax = 256

// New returns the service. REQUIRES: Run runs, or sessions end after half an hour whatever their user does.
func New(c Config, d Deps) (*Service, error) {
	f, err := newFiles(embedded)
	if err != nil {
		return nil, err
	}
	if d.Tail == nil {
		d.Tail = logtail.New(d.Now())
	}
	if d.Hasher == nil {
		d.Hasher = login.NewHasher()
	}
	return &Service{
		config: c, deps: d, attempts: login.NewAttempts(), byProvider: login.NewAttempts(), origins: http.NewCrossOriginProtection(),
		touches: make(chan store.LoginKey, touchesMax), files: f, hub: newHub(d.Watch, d.Latencies),
	}, nil
}

// Listener is what the console uses of the listener that serves it.
type Listener struct {
	Client func(*http.Request) netip.Addr // The address of the client behind trusted proxies.
	Refuse func(w http.ResponseWriter, code apierr.Code, message string)
}

// Routes returns what the console serves, by the patterns of http.ServeMux. The listener has set Cache-Control to no-store.
func (s *Service) Routes(l Listener) map[string]http.HandlerFunc {
	h := handlers{s, l}
	return map[string]http.HandlerFunc{
		"GET /{$}":                                                 s.files.serve,
		"GET " + Base:                                              s.files.serve,
		"GET " + Base + "/{path...}":                               s.files.serve,
		"GET " + APIBase + "/{path...}":                            h.unknown,
		"GET " + APIBase + "/session":                              h.answer(h.session),
		"POST " + APIBase + "/session":                             h.answer(h.signIn),
		"DELETE " + APIBase + "/session":                           h.answer(h.signOut),
		"POST " + APIBase + "/setup":                               h.answer(h.setup),
		"POST " + APIBase + "/invitations/accept":                  h.answer(h.accept),
		"GET " + APIBase + "/settings":                             h.answer(h.settings),
		"GET " + APIBase + "/users":                                h.answer(h.users),
		"POST " + APIBase + "/users":                               h.answer(h.invite),
		"PATCH " + APIBase + "/users/{user_id}":                    h.answer(h.changeRole),
		"DELETE " + APIBase + "/users/{user_id}":                   h.answer(h.removeUser),
		"DELETE " + APIBase + "/users/invitations/{invitation_id}": h.answer(h.revoke),
		"GET " + APIBase + "/purchases":                            h.answer(h.purchase),
		"GET " + APIBase + "/purchases/newest":                     h.answer(h.newestPurchases),
		"GET " + APIBase + "/served-ads":                           h.answer(h.servedAd),
		"GET " + APIBase + "/live":                                 h.live,
		"GET " + APIBase + "/log":                                  h.log,
		"PUT " + APIBase + "/password":                             h.answer(h.changePassword),
		"GET " + APIBase + "/oidc/start":                           h.startProvider,
		"GET " + ProviderCallback:                                  h.finishProvider,
		"GET " + APIBase + "/second-factor":                        h.answer(h.secondFactor),
		"POST " + APIBase + "/second-factor":                       h.answer(h.beginSecondFactor),
		"PUT " + APIBase + "/second-factor":                        h.answer(h.confirmSecondFactor),
		"POST " + APIBase + "/second-factor/off":                   h.answer(h.changeOwnFactor("turnOffSecondFactor", h.turnOffSecondFactor)),
		"POST " + APIBase + "/second-factor/recovery-codes":        h.answer(h.changeOwnFactor("replaceRecoveryCodes", h.replaceRecoveryCodes)),
		"DELETE " + APIBase + "/second-factors/{user_id}":          h.answer(h.resetSecondFactor),
	}
}

// APIBase is the path of the console's own operations. The operations of /public/v1 are mounted at V1Base.
const (
	APIBase = Base + "/api"
	V1Base  = APIBase + "/v1/"
	// ClusterBase is where the operations of the cluster's operator are mounted.
	ClusterBase = APIBase + "/cluster"
)

// people is the store of users, with reads that see every write that was answered before.
func (s *Service) people(ctx context.Context) store.People { return s.deps.Store.People().Current(ctx) }

// marketplace returns a marketplace as this node's auctions see it, or nil.
func (s *Service) marketplace(ordinal uint16) *model.Marketplace {
	return s.deps.Store.View().Marketplace(ordinal)
}

// SetupLink returns the link with which the first admin is made, or an empty text when there is or was one. Every node gives the same
// link, because it may lead to another node than the one that printed it.
func (s *Service) SetupLink() (string, error) {
	has, err := s.deps.Store.People().HasAdmin()
	if err != nil || has {
		return "", err
	}
	return strings.TrimRight(s.config.PublicURL, "/") + setupPage + s.setupToken(), nil
}

// setupToken follows from a secret of the cluster. It is valid until there is an admin, and then never again.
func (s *Service) setupToken() string {
	secret := s.deps.Store.Tenant(store.OperatorMarketplace).CursorKey()
	mac := hmac.New(sha256.New, secret[:])
	mac.Write([]byte("gavel console setup"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Run records the times of requests until ctx ends.
func (s *Service) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-s.touches:
			// Without a leader the time is not recorded; the session's next request tries again.
			_ = s.deps.Store.People().Touch(ctx, key)
		}
	}
}
