// Package manage is the management listener: the HTTP server for /public/v1 and for the same /v2 as the auction listener, with the
// API reference, the metrics and the health checks of the node.
//
// It checks a request in the order of the interface: path, method, key, rate limit, body, then the kit's check of the operation
// (node/manage/resource), and then the operation itself runs. DESIGN.md has the reasons.
package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/admin"
	"github.com/gavel-ads/gavel/node/manage/audience"
	"github.com/gavel-ads/gavel/node/manage/billing"
	"github.com/gavel-ads/gavel/node/manage/campaign"
	"github.com/gavel-ads/gavel/node/manage/catalog"
	"github.com/gavel-ads/gavel/node/manage/creative"
	"github.com/gavel-ads/gavel/node/manage/report"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Config holds the operator's settings of this listener. A limit of zero is switched off.
type Config struct {
	PublicURL       string // Base of links in answers and documents.
	AuctionURL      string // Base URL of the auction listener for the description; empty leaves it out.
	AssetURL        string // Base of the public URLs of assets; empty means PublicURL.
	Version         string
	Runbook         string   // The operator's manual, for /docs/runbook; empty means that there is no such page.
	Guides          []Guide  // For /docs/guides; none means that there are no such pages.
	Development     bool     // Allows webhooks to this machine.
	CORSOrigins     []string // Origins that may call /public/v1 from a browser.
	PageOrigins     []string // Origins of pages with the vendors' dialog; empty or "*" means every origin.
	TrustedProxies  []string // Addresses or CIDR ranges of proxies whose X-Forwarded-For is used.
	AgencyAreas     []string // Further names under which the campaigns of agencies are served.
	RateManagement  int      // Requests in rateManagementWindow per client address and key.
	RateCatalog     int      // The same for the catalog, in rateCatalogWindow, counted separately.
	ManagementBody  int64    // The most bytes of a body, after decompression; 0 means BodyMax.
	RequestHeadSize int      // The most bytes of request line and headers; 0 means headMax.
	Connections     int      // The most open connections; 0 means connectionsMax.
}

// Deps are the parts of the node behind this listener.
type Deps struct {
	Core *serving.Core // Serves /v2 and /healthz.
	Keys *auth.Table
	// Console signs people in and says what they may call.
	Console *console.Service
	Blobs   blob.Store
	// Networks are the connected ad networks, and ReportJob applies their reports.
	Networks  []string
	ReportJob func(ctx context.Context, marketplace uint16, job ids.UUID, r jobs.OffsiteReport) (store.Job, error)
	Tenant    func(marketplace uint16) store.Tenant
	// Open begins the session of a request, whose reads are as new as r demands. token is called when the request is done and
	// returns a token of what it wrote; empty when it wrote nothing. If nil, requests read this node's state, without tokens.
	Open func(ctx context.Context, marketplace uint16, r Consistency) (t store.Tenant, token func() string, err error)
	// Bodies is the budget of bytes of request bodies in memory; nil means no bound.
	Bodies *limits.Bytes
	// Slots share out the connections to marketplaces; nil means that one marketplace may use all.
	Slots   *limits.Slots
	Metrics http.Handler // GET /metrics
	// Operator serves OperatorRoutes for callers with a key of the first marketplace. If nil, these paths are unknown.
	Operator       http.Handler
	OperatorRoutes []string
	// Ready returns the empty string when the node is ready, else the reason why it is not, for GET /readyz.
	Ready func() string
	// Draining reports whether the node is about to stop: every answer ends its connection then. It may be nil.
	Draining func() bool
	// Notes returns remarks of a node that is ready, for GET /readyz. It may be nil.
	Notes func() []string
	Now   func() time.Time
	Log   *slog.Logger
	// Audit writes an entry of the audit log as it is at the end of its request. It may block, and must lose none. If nil, entries
	// stay as they were when their requests changed something.
	Audit func(marketplace uint16, e store.AuditEntry)
	// Count counts a management request under its operation id. It may be nil.
	Count func(operation, status, requestID string, took time.Duration)
	// Access writes requests to the log; nil writes none.
	Access *serving.AccessLog
	// Trace begins the span of a request, and returns the function that ends it; nil traces none.
	Trace func(r *http.Request, operation, route, requestID string) (traced *http.Request, end func(status int))
	// Background schedules reports, explanations and forecasts. If nil, they run at once.
	Background *limits.Scheduler
}

// Server answers every request of the listener.
type Server struct {
	config  Config
	deps    Deps
	routes  *routes
	api     huma.API
	openAPI func() ([]byte, error)
	proxies proxies
	cors    corsRules
	limits  *limiter
	running *inFlight
	assets  *creative.AssetService
	offsite *audience.OffsiteService
}

// connectionsMax is how many connections are served at the same time. BOUND: each holds about 20 KiB.
const connectionsMax = 10_000

// New builds the listener's handler. It returns an error for a trusted proxy that is not an address, an agency area that is the name
// of a service, or a route without a credential.
func New(c Config, d Deps) (*Server, error) {
	trusted, err := parseProxies(c.TrustedProxies)
	if err != nil {
		return nil, err
	}
	c.PublicURL, c.AssetURL = resource.Trimmed(c.PublicURL), resource.Trimmed(cmp.Or(c.AssetURL, c.PublicURL))
	if c.ManagementBody == 0 {
		c.ManagementBody = BodyMax
	}
	c.Connections = cmp.Or(c.Connections, connectionsMax)
	s := &Server{
		config: c, deps: d, routes: newRoutes(), proxies: trusted, cors: newCORSRules(&c),
		limits: newLimiter(), running: newInFlight(),
	}
	members, err := describedMembers()
	if err != nil {
		return nil, err
	}
	s.api = resource.New(s.routes, resource.Config{Title: "Gavel", Version: c.Version, PublicURL: c.PublicURL, Logger: d.Log, Members: members})
	s.openAPI = sync.OnceValues(s.api.OpenAPI().MarshalJSON)
	s.assets = &creative.AssetService{
		Blobs: d.Blobs, PublicURL: c.PublicURL, AssetURL: c.AssetURL, Now: d.Now, Refuse: s.refuse,
		Tenant: d.Tenant, CurrentTenant: s.currentTenant,
	}
	s.assets.Register(s.api)
	s.offsite = &audience.OffsiteService{
		Blobs: d.Blobs, PublicURL: c.PublicURL, Now: d.Now, Refuse: s.refuse, Networks: d.Networks, ReportJob: d.ReportJob,
		Tenant: d.Tenant, CurrentTenant: s.currentTenant,
	}
	s.offsite.Register(s.api)
	campaign.RegisterExplain(s.api, d.Core, d.Now)
	campaign.RegisterForecast(s.api, d.Core, d.Now)
	billing.RegisterReversals(s.api, d.Core)
	admin.RegisterAPIKeys(s.api, d.Now, d.Keys)
	admin.RegisterWebhooks(s.api, c.Development)
	Register(s.api, d.Now)
	if err := s.mountAgencies(); err != nil {
		return nil, err
	}
	audience.DocumentSegments(s.api)
	if err := s.mountOther(members); err != nil {
		return nil, err
	}
	if err := s.routes.applyDescription(s.api.OpenAPI()); err != nil {
		return nil, err
	}
	return s, s.mountConsole()
}

// mountAgencies mounts the campaigns of agencies under the two fixed names and the configured ones.
func (s *Server) mountAgencies() error {
	areas := slices.Clone(campaign.AgencyAreas)
	for _, area := range s.config.AgencyAreas {
		for path := range s.api.OpenAPI().Paths {
			if strings.HasPrefix(path, publicV1+area+"/") {
				return fmt.Errorf("management.agency_areas: %q is the name of a service", area)
			}
		}
		if !slices.Contains(areas, area) {
			areas = append(areas, area)
		}
	}
	campaign.RegisterAgency(s.api, areas)
	return nil
}

// Register mounts the resources. A new resource adds one line here.
func Register(api huma.API, now func() time.Time) {
	admin.RegisterAuditLog(api)
	billing.Register(api)
	campaign.Register(api, now)
	catalog.Register(api, now)
	admin.RegisterInvitations(api, now)
	admin.RegisterMarketplaces(api)
	campaign.RegisterDialog(api, now)
	creative.RegisterPlacements(api)
	report.Register(api)
	campaign.RegisterRestrictionTypes(api)
	audience.RegisterSegments(api)
	audience.RegisterErasure(api, serving.UserHasher)
	admin.RegisterSettings(api)
	creative.RegisterSlots(api)
	creative.RegisterTemplates(api)
	admin.RegisterUsers(api)
}

// mountOther mounts everything that is not a JSON operation of the API: documents, files, health checks, metrics.
func (s *Server) mountOther(members map[string]string) error {
	if err := s.addDocumented(); err != nil {
		return err
	}
	if err := s.addExamples(); err != nil {
		return err
	}
	resource.DescribeMembers(s.api.OpenAPI(), members)
	parameters, err := describedParameters()
	if err != nil {
		return err
	}
	resource.DescribeParameters(s.api.OpenAPI(), parameters)
	s.routes.HandleFunc("GET /openapi.json", s.serveOpenAPI)
	s.routes.HandleFunc("GET /readyz", s.ready)
	s.routes.HandleFunc("GET /healthz", s.v2)
	s.routes.HandleFunc(audience.SegmentUploadRoute, audience.NewSegmentUploads(serving.UserHasher, s.problem).Serve)
	for _, file := range []struct {
		route string
		serve http.HandlerFunc
	}{
		{creative.AssetUploadRoute, s.assets.Upload},
		{creative.AssetFileRoute, s.assets.File},
		{audience.OffsiteListRoute, s.offsite.Upload},
		{audience.OffsiteExportRoute, s.offsite.Export},
	} {
		s.routes.HandleFunc(file.route, file.serve)
	}
	if s.deps.Metrics != nil {
		s.routes.Handle("GET /metrics", s.deps.Metrics)
	}
	for _, pattern := range s.deps.OperatorRoutes {
		s.routes.Handle(pattern, s.operator(s.deps.Operator))
		s.routes.byPattern[pattern].credential = resource.OperatorKey
	}
	return s.mountDocs()
}

// OpenAPI returns the description of every operation, /v2 included. It is written when it is first asked for: that takes as long
// as the rest of New.
func (s *Server) OpenAPI() ([]byte, error) { return s.openAPI() }

func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	text, err := s.OpenAPI()
	if err != nil {
		panic(err) // A test reads it.
	}
	static("application/json", text).ServeHTTP(w, r)
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if why := s.deps.Ready(); why != "" {
		s.refuse(w, apierr.ServiceUnavailable, why)
		return
	}
	answer := struct {
		Status string   `json:"status"`
		Notes  []string `json:"notes,omitempty"`
	}{Status: "ok"}
	if s.deps.Notes != nil {
		answer.Notes = s.deps.Notes()
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic("manage: the readiness cannot be encoded as JSON: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // The client may have disconnected.
}
