package creative

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	if kind, marketplace, ok := blob.Owner(address); ok && kind == store.ContentKind {
		s.content(w, r, marketplace)
		return
	}
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
	describeFile(h, contentType(x.MimeType), x.Hash)
	if x.MimeType == "text/html" {
		h.Set("Content-Disposition", "attachment")
	}
	h.Set("Cache-Control", "private, no-store")
	if x.Status == store.AssetApproved {
		h.Set("Cache-Control", publicFile)
	}
	http.ServeContent(w, r, "", time.UnixMilli(x.UpdatedMillis), f)
	_ = f.Close() // It was only read.
}

// publicFile is the Cache-Control of a file that everybody may read: a withdrawn approval takes effect within 5 minutes.
const publicFile = "public, max-age=300"

// describeFile sets the header fields that every file has.
func describeFile(h http.Header, contentType, hash string) {
	h.Set("Content-Type", contentType)
	h.Set("Content-Security-Policy", filePolicy)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // Pages of storefronts embed it.
	h.Set("Access-Control-Allow-Origin", "*")             // Scripts of storefronts fetch subtitles and JSON.
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("ETag", `"`+hash+`"`)
}

// content serves the content of a banner, which is part of its bid, as a file. Everybody may read it while its campaign is approved,
// because auctions answer it, too.
func (s *AssetService) content(w http.ResponseWriter, r *http.Request, marketplace uint16) {
	tenant := s.Tenant(marketplace)
	text, created, err := []byte(nil), int64(0), store.ErrNotFound
	if m := tenant.Settings(); m.Ordinal != 0 && !m.Suspended {
		text, created, err = tenant.Content(r.Context(), r.PathValue("address"))
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.Refuse(w, apierr.ResourceNotFound, "")
	case err != nil:
		s.Refuse(w, apierr.ServiceUnavailable, "the content cannot be read now")
	default:
		hash := sha256.Sum256(text)
		describeFile(w.Header(), "application/json", hex.EncodeToString(hash[:]))
		w.Header().Set("Cache-Control", publicFile)
		http.ServeContent(w, r, "", time.UnixMilli(created), bytes.NewReader(text))
	}
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
