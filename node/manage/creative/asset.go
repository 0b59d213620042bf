package creative

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	assetBase = "/public/v1/assets/asset"
	oneAsset  = assetBase + "/{asset_id}"
	assetTag  = "Assets"
)

// AssetService serves the asset operations. The function members give it what it needs of the listener.
type AssetService struct {
	Blobs     blob.Store
	PublicURL string // The URL of this listener, which uploads are sent to.
	AssetURL  string // The URL below which files are served to the public.
	Now       func() time.Time
	Tenant    func(marketplace uint16) store.Tenant // For requests for files, which have no key. It reads this node's state.
	// CurrentTenant is Tenant for uploads: it reads everything that any node answered before.
	CurrentTenant func(ctx context.Context, marketplace uint16) (store.Tenant, error)
	Refuse        func(w http.ResponseWriter, code apierr.Code, message string)

	limiter *ingress.UploadLimiter
}

// Register mounts the operations.
func (s *AssetService) Register(api huma.API) {
	s.limiter = ingress.NewUploadLimiter(uploadsMax, uploadsEach)
	resource.Add(api, resource.Op{
		ID: "createAsset", Method: http.MethodPost, Status: http.StatusCreated, Path: assetBase, Tag: assetTag,
		Doc: "Create an asset: without externalUrl the answer has an uploadUrl, to which all fields and then the part file are posted " +
			"as multipart/form-data, within 15 minutes and once.",
	}, s.create)
	resource.Add(api, resource.Op{ID: "listAssets", Method: http.MethodGet, Path: "/public/v1/assets/assets", Tag: assetTag, Doc: "List the assets, newest first."}, s.list)
	resource.Add(api, resource.Op{ID: "getAsset", Method: http.MethodGet, Path: oneAsset, Tag: assetTag, Doc: "Get an asset."}, s.get)
	resource.Add(api, resource.Op{
		ID: "updateAsset", Method: http.MethodPatch, Path: oneAsset, Tag: assetTag, Doc: "Change the description of an asset; its file and status stay.",
	}, s.patch)
	resource.Add(api, resource.Op{
		ID: "deleteAsset", Method: http.MethodDelete, Status: http.StatusNoContent, Path: oneAsset, Tag: assetTag,
		Doc: "Delete an asset and its file; 409 while a slot or a bid shows it.",
	}, s.remove)
	resource.Add(api, resource.Op{
		ID: "listAssetUses", Method: http.MethodGet, Path: oneAsset + "/uses", Tag: assetTag, Background: limits.KindReport,
		Doc: "List what shows an asset: slots with a fallback, and campaigns with a bid, at most 100 of each.",
	}, s.uses)
	resource.Add(api, resource.Op{
		ID: "reviewAsset", Method: http.MethodPost, Status: http.StatusOK, Path: oneAsset + "/review", Tag: assetTag, Doc: "Approve or reject an asset.",
	}, s.review)
	resource.Add(api, resource.Op{
		ID: "renewAssetUpload", Method: http.MethodPost, Status: http.StatusOK, Path: oneAsset + "/upload", Tag: assetTag,
		Doc: "Get a new upload form for an asset whose file is missing or was refused. The old form stops working.",
	}, s.renew)
}

func (s *AssetService) create(ctx context.Context, in *assetCreateInput) (*assetOutput, error) {
	x, found := in.Body.asset()
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	st := resource.Tenant(ctx)
	if _, err := st.Vendor(ctx, in.VendorID); err != nil {
		return nil, resource.VendorErrorOf(err)
	}
	x.VendorID = in.VendorID
	marketplace := resource.CallerOf(ctx).Marketplace
	if err := st.CreateAsset(ctx, &x, blob.Name("a", marketplace)); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return s.answerWithForm(ctx, &x), nil
}

func (s *AssetService) list(ctx context.Context, in *assetListInput) (*assetListOutput, error) {
	st := resource.Tenant(ctx)
	if in.VendorID != "" {
		if _, err := st.Vendor(ctx, in.VendorID); err != nil {
			return nil, resource.VendorErrorOf(err)
		}
	}
	keep := func(x *store.Asset) bool {
		return (in.VendorID == "" || x.VendorID == in.VendorID) &&
			(in.Brand == "" || slices.Contains(x.Brands, in.Brand)) &&
			(in.MimeType == "" || x.MimeType == in.MimeType) &&
			(in.Status == "" || string(x.Status) == in.Status) &&
			(len(in.AssetIDs) == 0 || slices.Contains(in.AssetIDs, x.ID.String()))
	}
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listAssets", in.VendorID, in.Brand, in.MimeType, in.Status, strings.Join(in.AssetIDs, ","))
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(x store.Asset) string { return x.ListPosition() },
		func(p store.Page) ([]store.Asset, bool, error) { return st.Assets(ctx, p, keep) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]Asset, len(page))
	for i := range page {
		all[i] = s.assetOf(ctx, &page[i])
	}
	return &assetListOutput{AssetList{all, end}}, nil
}

func (s *AssetService) get(ctx context.Context, in *OneAsset) (*assetOutput, error) {
	x, err := resource.Tenant(ctx).Asset(ctx, resource.ParseUUID(in.ID))
	return s.answer(ctx, x, err)
}

func (s *AssetService) patch(ctx context.Context, in *assetPatchInput) (*assetOutput, error) {
	change, found := in.Body.change()
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	x, err := resource.Tenant(ctx).ChangeAsset(ctx, resource.ParseUUID(in.ID), change)
	return s.answer(ctx, x, err)
}

// remove deletes the record before the file: the sweep removes a file without a record, but a record without a file would be a broken ad.
func (s *AssetService) remove(ctx context.Context, in *OneAsset) (*struct{}, error) {
	st, id := resource.Tenant(ctx), resource.ParseUUID(in.ID)
	x, err := st.Asset(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	x, err = st.DeleteAsset(ctx, id, s.urlOf(&x))
	if used, ok := errors.AsType[*store.AssetInUse](err); ok {
		return nil, resource.Refuse(apierr.InvalidOperation, used.Error())
	}
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if x.Address != "" {
		_ = s.Blobs.Remove(ctx, x.Object()) // If this fails, the sweep removes the file.
	}
	return nil, nil
}

func (s *AssetService) review(ctx context.Context, in *reviewInput) (*assetOutput, error) {
	x, err := resource.Tenant(ctx).ReviewAsset(ctx, resource.ParseUUID(in.ID), store.AssetStatus(in.Body.Status), in.Body.Reason)
	return s.answer(ctx, x, err)
}

func (s *AssetService) renew(ctx context.Context, in *OneAsset) (*assetOutput, error) {
	x, err := resource.Tenant(ctx).NewUpload(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return s.answerWithForm(ctx, &x), nil
}

func (s *AssetService) answer(ctx context.Context, x store.Asset, err error) (*assetOutput, error) {
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &assetOutput{s.assetOf(ctx, &x)}, nil
}

// answerWithForm adds the upload form to the answer, if the asset waits for its file.
func (s *AssetService) answerWithForm(ctx context.Context, x *store.Asset) *assetOutput {
	out := &assetOutput{s.assetOf(ctx, x)}
	if x.Nonce != "" {
		out.Body.UploadURL = s.PublicURL + uploadPath + x.ID.String()
		out.Body.Fields = s.form(resource.Tenant(ctx).CursorKey(), resource.CallerOf(ctx).Marketplace, x)
	}
	return out
}
