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
)

const (
	offsiteBase = "/public/v1/offsite-ads"
	offsiteTag  = "Offsite"
)

// OffsiteService serves the offsite operations. The function members give it what it needs of the listener.
type OffsiteService struct {
	Blobs     blob.Store
	PublicURL string
	Now       func() time.Time
	Tenant    func(marketplace uint16) store.Tenant
	// CurrentTenant is Tenant for uploads: it reads everything that any node answered before.
	CurrentTenant func(ctx context.Context, marketplace uint16) (store.Tenant, error)
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

// knownVendor refuses a vendor that is not in the catalog.
func knownVendor(ctx context.Context, id string) error {
	if _, err := resource.Tenant(ctx).Vendor(ctx, id); err != nil {
		return resource.VendorErrorOf(err)
	}
	return nil
}

// connected reports whether a network has a connector.
func (s *OffsiteService) connected(network string) bool {
	return slices.Contains(s.Networks, network)
}
