package creative

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	uploadPath = "/uploads/assets/"
	// AssetUploadRoute is the route of uploads.
	AssetUploadRoute = "POST " + uploadPath + "{asset_id}"

	uploadsMax  = 16               // BOUND: uploads at the same moment on one node.
	uploadsEach = 8                // BOUND: uploads of one marketplace at the same moment on one node.
	fieldsMax   = 20               // BOUND: parts before the file.
	fieldLen    = 8 << 10          // BOUND: bytes of one of them.
	fileTimeout = 10 * time.Minute // BOUND: time for a download; a video at 0.7 Mbit/s.
)

// The fields of a form.
const (
	fieldKey       = "key"
	fieldType      = "Content-Type"
	fieldAlgorithm = "x-gavel-algorithm"
	fieldPolicy    = "policy"
	fieldSignature = "x-gavel-signature"

	algorithm = "GAVEL-HMAC-SHA256"
)

func keyOf(secret [32]byte) blob.Key { return blob.KeyOf(secret, "asset uploads") }

// form makes the fields of an upload form.
func (s *AssetService) form(secret [32]byte, marketplace uint16, x *store.Asset) map[string]string {
	policy, signature := keyOf(secret).Sign(blob.Policy{
		Method: http.MethodPost, Path: uploadPath + x.ID.String(), Marketplace: marketplace, Subject: x.ID.String(),
		Object: x.Object(), Type: x.MimeType, MaxBytes: maxBytes(x.MimeType),
		Expires: s.Now().Add(blob.FormTTL).UnixMilli(), Nonce: x.Nonce,
	})
	fields := map[string]string{
		fieldKey: x.Object(), fieldAlgorithm: algorithm, fieldPolicy: policy, fieldSignature: signature,
	}
	if x.MimeType != "" {
		fields[fieldType] = x.MimeType
	}
	return fields
}

// refusal is the reason why an upload is refused.
type refusal struct {
	code   apierr.Code
	reason string
}

func forbidden(reason string) *refusal { return &refusal{apierr.ForbiddenAPIKey, reason} }

// Upload receives the file of an asset: the fields of its form, then the part "file".
//
// The file is read only after the form was verified, a place among the running uploads was acquired and the nonce was spent. So a form
// works for one attempt. A failed attempt ends in the state upload_error, and the vendor requests a new form.
func (s *AssetService) Upload(w http.ResponseWriter, r *http.Request) {
	body := ingress.NewUploadBody(w, r)
	r.Body = body
	if refused := s.upload(r, body); refused != nil {
		body.Refuse()
		s.Refuse(w, refused.code, refused.reason)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *AssetService) upload(r *http.Request, body *ingress.UploadBody) *refusal {
	parts, err := r.MultipartReader()
	if err != nil {
		return &refusal{apierr.UnsupportedMediaType, "an upload is multipart/form-data"}
	}
	fields, file, refused := readFields(parts)
	if refused != nil && body.Slow() {
		return &refusal{apierr.BadRequest, "the fields of the form did not arrive within " + ingress.UploadFormTimeout.String()}
	}
	if refused != nil {
		return refused
	}
	policy, tenant, refused := s.authorizeForm(r, fields)
	if refused != nil {
		return refused
	}
	release, full := s.limiter.Acquire(policy.Marketplace)
	if release == nil {
		return &refusal{apierr.ServiceUnavailable, full}
	}
	defer release()
	body.MeasureRate()
	return s.store(context.WithoutCancel(r.Context()), policy, tenant, file)
}

// store receives the file of a verified form. REQUIRES: ctx does not end with the request, because a client that disconnects must not
// leave the asset between two states.
func (s *AssetService) store(ctx context.Context, policy blob.Policy, tenant store.Tenant, file io.Reader) *refusal {
	id, err := ids.Parse(policy.Subject)
	if err != nil {
		return forbidden("the form is not valid")
	}
	if _, err := tenant.BeginUpload(ctx, id, policy.Object, policy.Nonce); err != nil {
		return refusalOf(err)
	}
	uploaded, refused := s.receive(ctx, policy, file)
	if refused == nil {
		_, err = tenant.FinishUpload(ctx, id, uploaded)
		refused = refusalOf(err)
	}
	if refused != nil {
		_, _ = tenant.FailUpload(ctx, id, policy.Object, refused.reason) // If this fails, the upload expires after 24 hours.
		_ = s.Blobs.Remove(ctx, policy.Object)                           // If this fails, the sweep removes the file.
	}
	return refused
}

func refusalOf(err error) *refusal {
	if limit, ok := errors.AsType[*store.Limit](err); ok {
		return &refusal{apierr.LimitExceeded, limit.Error()}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrWrongState), errors.Is(err, store.ErrNotFound):
		return forbidden("the form was used, replaced or withdrawn")
	default:
		return &refusal{apierr.ServiceUnavailable, "the upload cannot be recorded now"}
	}
}

// readFields reads the parts of a form up to its file.
func readFields(parts *multipart.Reader) (map[string]string, *multipart.Part, *refusal) {
	fields := map[string]string{}
	for range fieldsMax {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, &refusal{apierr.BadRequest, "the form cannot be read"}
		}
		if part.FormName() == "file" {
			return fields, part, nil
		}
		value, err := io.ReadAll(io.LimitReader(part, fieldLen+1))
		if err != nil || len(value) > fieldLen {
			return nil, nil, &refusal{apierr.BadRequest, "a field of the form must have at most 8,192 bytes"}
		}
		fields[part.FormName()] = string(value)
	}
	return nil, nil, &refusal{apierr.BadRequest, "the form has no part file, or more than 20 fields before it"}
}

// authorizeForm verifies a form and returns what it permits.
func (s *AssetService) authorizeForm(r *http.Request, fields map[string]string) (blob.Policy, store.Tenant, *refusal) {
	none := s.Tenant(0)
	policy, err := keyOf(none.CursorKey()).Verify(fields[fieldPolicy], fields[fieldSignature], r.Method, r.URL.Path, s.Now())
	if errors.Is(err, blob.ErrExpired) {
		return policy, store.Tenant{}, forbidden("the form has expired")
	}
	if err != nil || fields[fieldAlgorithm] != algorithm || fields[fieldKey] != policy.Object || fields[fieldType] != policy.Type {
		return policy, store.Tenant{}, forbidden("the signature does not match the form")
	}
	tenant, err := s.CurrentTenant(r.Context(), policy.Marketplace)
	if err != nil {
		return policy, store.Tenant{}, &refusal{apierr.ServiceUnavailable, "the form cannot be looked up now"}
	}
	if m := tenant.Settings(); m.Ordinal == 0 || m.Suspended {
		return policy, store.Tenant{}, &refusal{apierr.InvalidMarketplace, "the marketplace is suspended or deleted"}
	}
	return policy, tenant, nil
}

// receive checks the first bytes of a file, and stores the file if its type is allowed.
func (s *AssetService) receive(ctx context.Context, p blob.Policy, file io.Reader) (store.UploadedFile, *refusal) {
	head := make([]byte, headLen)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return store.UploadedFile{}, incomplete(err)
	}
	head = head[:n]
	mimeType := sniff(head)
	if mimeType == "" || p.Type != "" && mimeType != p.Type {
		return store.UploadedFile{}, &refusal{apierr.UnsupportedMediaType, "the first bytes of the file are not of its type"}
	}
	tooLarge, readable := oversize(mimeType, head)
	if !readable {
		return store.UploadedFile{}, &refusal{apierr.UnsupportedMediaType, "the size of the image cannot be read"}
	}
	if tooLarge {
		return store.UploadedFile{}, &refusal{apierr.PayloadTooLarge, "an image may have at most 50,000,000 pixels"}
	}
	c := &hashingReader{
		in: io.MultiReader(bytes.NewReader(head), file), most: min(p.MaxBytes, maxBytes(mimeType)), hash: sha256.New(),
	}
	if err := s.Blobs.Put(ctx, p.Object, c); err != nil {
		return store.UploadedFile{}, c.refusal()
	}
	return store.UploadedFile{Object: p.Object, MimeType: mimeType, Size: c.size, Hash: hex.EncodeToString(c.hash.Sum(nil))}, nil
}

// hashingReader counts and hashes the bytes that it reads, and fails beyond its bound.
type hashingReader struct {
	in         io.Reader
	size, most int64
	hash       hash.Hash
	failed     error // The error of the client's side, or errTooLarge.
}

var errTooLarge = errors.New("the file is too large")

func (c *hashingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.size += int64(n)
	if c.size > c.most {
		n, err = 0, errTooLarge
	}
	c.hash.Write(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

// refusal distinguishes an error of the client from one of the store.
func (c *hashingReader) refusal() *refusal {
	switch {
	case c.failed == nil:
		return &refusal{apierr.ServiceUnavailable, "the file could not be stored"}
	case errors.Is(c.failed, errTooLarge):
		return &refusal{apierr.PayloadTooLarge, "the file is larger than its type may be: 5 MiB, a video 50 MiB"}
	default:
		return incomplete(c.failed)
	}
}

// incomplete is the refusal of a file that did not arrive completely.
func incomplete(err error) *refusal {
	if errors.Is(err, ingress.ErrUploadSlow) {
		return &refusal{apierr.BadRequest, ingress.ErrUploadSlow.Error()}
	}
	return &refusal{apierr.BadRequest, "the file did not arrive completely"}
}
