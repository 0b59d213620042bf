// Package asset serves the images, videos and texts that ads show: their records, the signed uploads of their files, and the
// files themselves to the public.
//
// An upload form uploads one file, once. What a form permits is signed (node/blob). Its nonce is spent by a compare-and-set on the asset
// before a byte of the file is read, and every form leads to an object of its own. So of two uploads with one form at most one succeeds,
// an upload with a replaced form changes nothing, and the file of an asset never changes.
//
// An uploaded file is not executed anywhere. Its first 64 KiB decide the type, and it is served with that type. SVG is refused. Every file
// is served with `default-src 'none'; sandbox` and nosniff, HTML as an attachment. The public gets a file while it is approved; a reviewer
// gets a preview URL that is valid for 15 minutes.
//
// Limits: an asset counts as in use while a slot's fallback shows its URL, or a bid of its vendor shows it in a campaign that is not
// terminated. A node that restarts in the middle of an upload leaves the asset in pending_upload with a spent form; a new form helps at
// once. JSON, subtitles and HTML are recognized by their first bytes only.
package asset

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/node/upload"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

const (
	base = "/public/v1/assets/asset"
	one  = base + "/{asset_id}"
	tag  = "Assets"
)

// Store is what assets need of a marketplace's store.
type Store interface {
	Settings() market.Marketplace
	Vendor(ctx context.Context, id string) (market.Vendor, error)
	CreateAsset(ctx context.Context, x *store.Asset, address string) error
	Asset(ctx context.Context, id ids.UUID) (store.Asset, error)
	AssetByAddress(ctx context.Context, address string) (store.Asset, error)
	Assets(ctx context.Context, p store.Page, keep func(*store.Asset) bool) ([]store.Asset, bool, error)
	ChangeAsset(ctx context.Context, id ids.UUID, fn func(*store.Asset)) (store.Asset, error)
	ReviewAsset(ctx context.Context, id ids.UUID, status store.AssetStatus, reason string) (store.Asset, error)
	NewUpload(ctx context.Context, id ids.UUID) (store.Asset, error)
	BeginUpload(ctx context.Context, id ids.UUID, object, nonce string) (store.Asset, error)
	FinishUpload(ctx context.Context, id ids.UUID, u store.UploadedFile) (store.Asset, error)
	FailUpload(ctx context.Context, id ids.UUID, object, reason string) (store.Asset, error)
	DeleteAsset(ctx context.Context, id ids.UUID, url string) (store.Asset, error)
	CursorKey() [32]byte
}

// Service serves the asset operations. The function members give it what it needs of the listener.
type Service struct {
	Blobs     blob.Store
	PublicURL string // The URL of this listener, which uploads are sent to.
	AssetURL  string // The URL below which files are served to the public.
	Now       func() time.Time
	Tenant    func(marketplace uint16) Store // For requests for files, which have no key. It reads this node's state.
	// CurrentTenant is Tenant for uploads: it reads everything that any node answered before.
	CurrentTenant func(ctx context.Context, marketplace uint16) (Store, error)
	Refuse        func(w http.ResponseWriter, code apierr.Code, message string)

	limiter *upload.Limiter
}

// Register mounts the operations.
func (s *Service) Register(api huma.API) {
	s.limiter = upload.NewLimiter(uploadsMax, uploadsEach)
	resource.Add(api, resource.Op{
		ID: "createAsset", Method: http.MethodPost, Status: http.StatusCreated, Path: base, Tag: tag,
		Doc: "Create an asset: without externalUrl the answer has an uploadUrl, to which all fields and then the part file are posted " +
			"as multipart/form-data, within 15 minutes and once.",
	}, s.create)
	resource.Add(api, resource.Op{ID: "listAssets", Method: http.MethodGet, Path: "/public/v1/assets/assets", Tag: tag, Doc: "List the assets, newest first."}, s.list)
	resource.Add(api, resource.Op{ID: "getAsset", Method: http.MethodGet, Path: one, Tag: tag, Doc: "Get an asset."}, s.get)
	resource.Add(api, resource.Op{
		ID: "updateAsset", Method: http.MethodPatch, Path: one, Tag: tag, Doc: "Change the description of an asset; its file and status stay.",
	}, s.patch)
	resource.Add(api, resource.Op{
		ID: "deleteAsset", Method: http.MethodDelete, Status: http.StatusNoContent, Path: one, Tag: tag,
		Doc: "Delete an asset and its file; 409 while a slot or a bid shows it.",
	}, s.remove)
	resource.Add(api, resource.Op{
		ID: "reviewAsset", Method: http.MethodPost, Status: http.StatusOK, Path: one + "/review", Tag: tag, Doc: "Approve or reject an asset.",
	}, s.review)
	resource.Add(api, resource.Op{
		ID: "renewAssetUpload", Method: http.MethodPost, Status: http.StatusOK, Path: one + "/upload", Tag: tag,
		Doc: "Get a new upload form for an asset whose file is missing or was refused. The old form stops working.",
	}, s.renew)
}

func storeOf(ctx context.Context) Store { return resource.Tenant[Store](ctx) }

func (s *Service) create(ctx context.Context, in *createInput) (*output, error) {
	x, found := in.Body.asset()
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	st := storeOf(ctx)
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

func (s *Service) list(ctx context.Context, in *listInput) (*listOutput, error) {
	st := storeOf(ctx)
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
	return &listOutput{List{all, end}}, nil
}

func (s *Service) get(ctx context.Context, in *OneAsset) (*output, error) {
	x, err := storeOf(ctx).Asset(ctx, resource.ParseUUID(in.ID))
	return s.answer(ctx, x, err)
}

func (s *Service) patch(ctx context.Context, in *patchInput) (*output, error) {
	change, found := in.Body.change()
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	x, err := storeOf(ctx).ChangeAsset(ctx, resource.ParseUUID(in.ID), change)
	return s.answer(ctx, x, err)
}

// remove deletes the record before the file: the sweep removes a file without a record, but a record without a file would be a broken ad.
func (s *Service) remove(ctx context.Context, in *OneAsset) (*struct{}, error) {
	st, id := storeOf(ctx), resource.ParseUUID(in.ID)
	x, err := st.Asset(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	x, err = st.DeleteAsset(ctx, id, s.urlOf(&x))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if x.Address != "" {
		_ = s.Blobs.Remove(ctx, x.Object()) // If this fails, the sweep removes the file.
	}
	return nil, nil
}

func (s *Service) review(ctx context.Context, in *reviewInput) (*output, error) {
	x, err := storeOf(ctx).ReviewAsset(ctx, resource.ParseUUID(in.ID), store.AssetStatus(in.Body.Status), in.Body.Reason)
	return s.answer(ctx, x, err)
}

func (s *Service) renew(ctx context.Context, in *OneAsset) (*output, error) {
	x, err := storeOf(ctx).NewUpload(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return s.answerWithForm(ctx, &x), nil
}

func (s *Service) answer(ctx context.Context, x store.Asset, err error) (*output, error) {
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &output{s.assetOf(ctx, &x)}, nil
}

// answerWithForm adds the upload form to the answer, if the asset waits for its file.
func (s *Service) answerWithForm(ctx context.Context, x *store.Asset) *output {
	out := &output{s.assetOf(ctx, x)}
	if x.Nonce != "" {
		out.Body.UploadURL = s.PublicURL + uploadPath + x.ID.String()
		out.Body.Fields = s.form(storeOf(ctx).CursorKey(), resource.CallerOf(ctx).Marketplace, x)
	}
	return out
}
