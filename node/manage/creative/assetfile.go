package creative

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	filePath = store.AssetPath
	// AssetFileRoute is the public route of files.
	AssetFileRoute = "GET " + filePath + "{address}"
)

// filePolicy denies a file that a browser opens as a page everything: no script, no form, no request, no access to this origin.
// What a vendor uploads can be displayed and do nothing, even on the console's own site.
const filePolicy = "default-src 'none'; sandbox"

func previewKeyOf(secret [32]byte) blob.Key { return blob.KeyOf(secret, "asset previews") }

// assetOf converts an asset to its answer.
func (s *AssetService) assetOf(ctx context.Context, x *store.Asset) Asset {
	a := Asset{
		ID: x.ID.String(), Name: x.Name, VendorID: x.VendorID, ProductIDs: orEmpty(x.ProductIDs), Brands: orEmpty(x.Brands),
		Metadata: x.Metadata, Status: string(x.Status), Reason: x.Reason, IsExternal: x.ExternalURL != "", URL: s.urlOf(x),
		Fields: map[string]string{}, CreatedAt: resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
	}
	if a.Metadata == nil {
		a.Metadata = map[string]string{}
	}
	if x.MimeType != "" {
		a.MimeType = &x.MimeType
	}
	if x.Hash != "" && x.Status != store.AssetApproved {
		policy, signature := previewKeyOf(resource.Tenant(ctx).CursorKey()).Sign(blob.Policy{
			Method: http.MethodGet, Path: filePath + x.Address, Expires: s.Now().Add(blob.FormTTL).UnixMilli(),
		})
		a.PreviewURL = a.URL + "?policy=" + policy + "&signature=" + signature
	}
	return a
}

// File serves the file of an asset: to everybody if the asset is approved, else only with the preview URL of a review.
func (s *AssetService) File(w http.ResponseWriter, r *http.Request) {
	address := r.PathValue("address")
	x, allowed := s.authorizeFile(r, address)
	if !allowed {
		s.Refuse(w, apierr.ResourceNotFound, "")
		return
	}
	f, err := s.Blobs.Open(r.Context(), x.Object())
	if errors.Is(err, blob.ErrNotFound) {
		s.Refuse(w, apierr.ResourceNotFound, "")
		return
	}
	if err != nil {
		s.Refuse(w, apierr.ServiceUnavailable, "the file cannot be read now")
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(s.Now().Add(fileTimeout)) // It fails only in tests, which have no connection.
	h := w.Header()
	h.Set("Content-Type", contentType(x.MimeType))
	h.Set("Content-Security-Policy", filePolicy)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // Pages of storefronts embed it.
	h.Set("Access-Control-Allow-Origin", "*")             // Scripts of storefronts fetch subtitles and JSON.
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("ETag", `"`+x.Hash+`"`)
	if x.MimeType == "text/html" {
		h.Set("Content-Disposition", "attachment")
	}
	h.Set("Cache-Control", "private, no-store")
	if x.Status == store.AssetApproved {
		h.Set("Cache-Control", "public, max-age=300") // So a withdrawn approval takes effect within 5 minutes.
	}
	http.ServeContent(w, r, "", time.UnixMilli(x.UpdatedMillis), f)
	_ = f.Close() // It was only read.
}

// authorizeFile finds the asset with an address, and reports whether this request may read its file.
func (s *AssetService) authorizeFile(r *http.Request, address string) (store.Asset, bool) {
	_, marketplace, ok := blob.Owner(address)
	if !ok {
		return store.Asset{}, false
	}
	tenant := s.Tenant(marketplace)
	if m := tenant.Settings(); m.Ordinal == 0 || m.Suspended {
		return store.Asset{}, false
	}
	x, err := tenant.AssetByAddress(r.Context(), address)
	if err != nil || x.Hash == "" {
		return store.Asset{}, false
	}
	if x.Status == store.AssetApproved {
		return x, true
	}
	q := r.URL.Query()
	_, err = previewKeyOf(tenant.CursorKey()).Verify(q.Get("policy"), q.Get("signature"), http.MethodGet, r.URL.Path, s.Now())
	return x, err == nil
}

func contentType(mimeType string) string {
	if strings.HasPrefix(mimeType, "text/") {
		return mimeType + "; charset=utf-8"
	}
	return mimeType
}
