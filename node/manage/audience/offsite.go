package audience

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

const (
	offsiteBase = "/public/v1/offsite-ads"
	offsiteTag  = "Offsite"
)

// OffsiteStore is what this resource needs of a marketplace's store.
type OffsiteStore interface {
	Settings() market.Marketplace
	Vendor(ctx context.Context, id string) (market.Vendor, error)
	CreateAudience(ctx context.Context, x *store.Audience, job *store.Job) error
	Audience(ctx context.Context, id ids.UUID) (store.Audience, error)
	Audiences(ctx context.Context, p store.Page, keep func(*store.Audience) bool) ([]store.Audience, bool, error)
	ReplaceAudience(ctx context.Context, id ids.UUID, job *store.Job, fn func(*store.Audience)) (store.Audience, error)
	BeginList(ctx context.Context, job ids.UUID, nonce string) (store.Job, error)
	StartList(ctx context.Context, job ids.UUID) (store.Job, error)
	ChangeJob(ctx context.Context, id ids.UUID, fn func(*store.Job) error) (store.Job, error)
	Job(ctx context.Context, id ids.UUID) (store.Job, error)
	AddJob(ctx context.Context, x *store.Job) error
	Advertiser(ctx context.Context, vendorID string) (store.Advertiser, error)
	ChangeAdvertiser(ctx context.Context, vendorID string, fn func(*store.Advertiser)) error
	CreateOffsiteCampaign(ctx context.Context, x *store.OffsiteCampaign, job *store.Job) error
	OffsiteCampaign(ctx context.Context, id ids.UUID) (store.OffsiteCampaign, error)
	PutOffsiteRows(ctx context.Context, campaign ids.UUID, rows []store.OffsiteRow) error
	OffsiteProducts(ctx context.Context, campaign ids.UUID, d store.Dates, p store.Page) ([]store.OffsiteRow, bool, error)
	CursorKey() [32]byte
}

// OffsiteService serves the offsite operations. The function members give it what it needs of the listener.
type OffsiteService struct {
	Blobs     blob.Store
	PublicURL string
	Now       func() time.Time
	Tenant    func(marketplace uint16) OffsiteStore
	// CurrentTenant is Tenant for uploads: it reads everything that any node answered before.
	CurrentTenant func(ctx context.Context, marketplace uint16) (OffsiteStore, error)
	Refuse        func(w http.ResponseWriter, code apierr.Code, message string)
	Networks      []string // The networks that have a connector.
	// ReportJob applies a connector's report.
	ReportJob func(ctx context.Context, marketplace uint16, job ids.UUID, r jobs.OffsiteReport) (store.Job, error)

	limiter *ingress.UploadLimiter
}

// Register mounts the operations.
func (s *OffsiteService) Register(api huma.API) {
	s.limiter = ingress.NewUploadLimiter(offsiteUploadsMax, offsiteUploadsEach)
	resource.Add(api, resource.Op{
		ID: "createAudience", Method: http.MethodPost, Status: http.StatusAccepted, Path: offsiteBase + "/audiences/user-list", Tag: offsiteTag,
		Doc: "Create an audience; upload its list as text/csv to the url of the answer within an hour.",
	}, s.createAudience)
	resource.Add(api, resource.Op{ID: "listAudiences", Method: http.MethodGet, Path: offsiteBase + "/audiences", Tag: offsiteTag, Doc: "List the audiences, newest first."}, s.listAudiences)
	resource.Add(api, resource.Op{
		ID: "replaceAudience", Method: http.MethodPut, Status: http.StatusAccepted, Path: offsiteBase + "/audiences/{audience_id}", Tag: offsiteTag,
		Doc: "Replace the list of an audience: upload it as text/csv to the url of the answer within an hour.",
	}, s.replaceAudience)
	resource.Add(api, resource.Op{ID: "getJob", Method: http.MethodGet, Path: offsiteBase + "/jobs/{job_id}", Tag: offsiteTag, Doc: "Read a job."}, getJob)
	resource.Add(api, resource.Op{
		ID: "reportJob", Method: http.MethodPatch, Path: offsiteBase + "/jobs/{job_id}", Tag: offsiteTag, Doc: "For connectors: report the result of a job.",
	}, s.reportJob)
	resource.Add(api, resource.Op{
		ID: "createAdvertiser", Method: http.MethodPost, Status: http.StatusAccepted, Path: offsiteBase + "/advertisers", Tag: offsiteTag,
		Doc: "Onboard a vendor on ad networks.",
	}, s.createAdvertiser)
	resource.Add(api, resource.Op{
		ID: "getAdvertiser", Method: http.MethodGet, Path: offsiteBase + "/advertisers/{vendor_id}", Tag: offsiteTag, Doc: "Read the registration of a vendor with each network.",
	}, getAdvertiser)
	resource.Add(api, resource.Op{
		ID: "createOffsiteCampaign", Method: http.MethodPost, Status: http.StatusCreated, Path: offsiteBase + "/campaigns", Tag: offsiteTag,
		Doc: "Register a campaign of an ad network. A job reports it to the network if the network is connected.",
	}, s.createCampaign)
	resource.Add(api, resource.Op{
		ID: "putOffsiteReport", Method: http.MethodPut, Path: offsiteBase + "/reporting/campaigns/{campaign_id}/products", Tag: offsiteTag,
		Doc: "For connectors: report products of a campaign by day; a row replaces that of its product and day.",
	}, putReport)
	resource.Add(api, resource.Op{
		ID: "getOffsiteReport", Method: http.MethodGet, Path: offsiteBase + "/reporting/campaigns/{campaign_id}/products", Tag: offsiteTag,
		Doc: "A campaign's numbers per product, by product id; of google_ads only.",
	}, s.getReport)
}

func offsiteStoreOf(ctx context.Context) OffsiteStore { return resource.Tenant[OffsiteStore](ctx) }

// knownVendor refuses a vendor that is not in the catalog.
func knownVendor(ctx context.Context, id string) error {
	if _, err := offsiteStoreOf(ctx).Vendor(ctx, id); err != nil {
		return resource.VendorErrorOf(err)
	}
	return nil
}

// connected reports whether a network has a connector.
func (s *OffsiteService) connected(network string) bool {
	return slices.Contains(s.Networks, network)
}
