package audience

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	listPath = jobs.OffsiteListPath
	// OffsiteListRoute is the route of uploads of lists.
	OffsiteListRoute = "PUT " + listPath + "{id}"
	// OffsiteExportRoute is the route by which connectors download lists of accepted rows.
	OffsiteExportRoute = "GET " + listPath + "{id}"

	listType           = "text/csv"
	listMax            = 64 << 20         // BOUND: bytes of a list. It is the interface's.
	offsiteUploadsMax  = 8                // BOUND: uploads at the same moment on one node.
	offsiteUploadsEach = 4                // BOUND: uploads of one marketplace at the same moment on one node.
	exportTimeout      = 10 * time.Minute // BOUND: time for a download; 64 MiB at 0.9 Mbit/s.
)

func keyOf(secret [32]byte) blob.Key { return blob.KeyOf(secret, "audience lists") }

// refusal is the reason why a list is refused.
type refusal struct {
	code   apierr.Code
	reason string
}

// Upload receives the list of a job and stores it. The job checks its content later.
func (s *OffsiteService) Upload(w http.ResponseWriter, r *http.Request) {
	body := ingress.NewUploadBody(w, r)
	r.Body = body
	if refused := s.upload(r, body); refused != nil {
		body.Refuse()
		s.Refuse(w, refused.code, refused.reason)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}") // The client may have disconnected.
}

func (s *OffsiteService) upload(r *http.Request, body *ingress.UploadBody) *refusal {
	p, tenant, refused := s.authorizeURL(r, keyOf)
	if refused != nil {
		return refused
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != p.Type {
		return &refusal{apierr.UnsupportedMediaType, "Content-Type must be text/csv"}
	}
	if r.ContentLength > p.MaxBytes {
		return tooLarge()
	}
	id, err := ids.Parse(p.Subject)
	if err != nil {
		return forbidden()
	}
	release, full := s.limiter.Acquire(p.Marketplace)
	if release == nil {
		return &refusal{apierr.ServiceUnavailable, full}
	}
	defer release()
	body.MeasureRate()
	ctx := context.WithoutCancel(r.Context()) // A client that disconnects must not leave the job between two states.
	if _, err := tenant.BeginList(ctx, id, p.Nonce); err != nil {
		return refusalOf(err)
	}
	list := &offsiteBoundedReader{in: body, left: p.MaxBytes}
	if err := s.Blobs.Put(ctx, p.Object, list); err != nil {
		refused = list.refusal()
		_, _ = tenant.ChangeJob(ctx, id, func(x *store.Job) error { // If this fails, the job fails after an hour.
			x.End(store.JobFailed, `{"error":"`+refused.reason+`"}`)
			return nil
		})
		return refused
	}
	if _, err := tenant.StartList(ctx, id); err != nil {
		_ = s.Blobs.Remove(ctx, p.Object) // If this fails, the sweep removes the file.
		return refusalOf(err)
	}
	return nil
}

func forbidden() *refusal {
	return &refusal{apierr.ForbiddenAPIKey, "the URL is not valid, was used already, or has expired"}
}

func tooLarge() *refusal {
	return &refusal{apierr.PayloadTooLarge, "a list may have at most 64 MiB"}
}

func refusalOf(err error) *refusal {
	if errors.Is(err, store.ErrWrongState) || errors.Is(err, store.ErrNotFound) {
		return forbidden()
	}
	return &refusal{apierr.ServiceUnavailable, "the upload cannot be recorded now"}
}

// authorizeURL verifies a signed URL and returns what it permits.
func (s *OffsiteService) authorizeURL(r *http.Request, key func([32]byte) blob.Key) (blob.Policy, store.Tenant, *refusal) {
	q := r.URL.Query()
	p, err := key(s.Tenant(0).CursorKey()).Verify(q.Get("policy"), q.Get("signature"), r.Method, r.URL.Path, s.Now())
	if err != nil {
		return p, store.Tenant{}, forbidden()
	}
	tenant, err := s.CurrentTenant(r.Context(), p.Marketplace)
	if err != nil {
		return p, store.Tenant{}, &refusal{apierr.ServiceUnavailable, "the upload cannot be looked up now"}
	}
	if m := tenant.Settings(); m.Ordinal == 0 || m.Suspended {
		return p, store.Tenant{}, &refusal{apierr.InvalidMarketplace, ""}
	}
	return p, tenant, nil
}

// offsiteBoundedReader fails beyond its bound.
type offsiteBoundedReader struct {
	in     io.Reader
	left   int64
	failed error // The error of the client's side, or errOffsiteTooLarge.
}

var errOffsiteTooLarge = errors.New("the list is too large")

func (c *offsiteBoundedReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if c.left -= int64(n); c.left < 0 {
		n, err = 0, errOffsiteTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

func (c *offsiteBoundedReader) refusal() *refusal {
	switch {
	case c.failed == nil:
		return &refusal{apierr.ServiceUnavailable, "the list could not be stored"}
	case errors.Is(c.failed, errOffsiteTooLarge):
		return tooLarge()
	case errors.Is(c.failed, ingress.ErrUploadSlow):
		return &refusal{apierr.BadRequest, ingress.ErrUploadSlow.Error()}
	default:
		return &refusal{apierr.BadRequest, "the list did not arrive completely"}
	}
}

// Export serves a list of accepted rows: a header and the parts, one after the other. A list that was replaced is answered with 404.
func (s *OffsiteService) Export(w http.ResponseWriter, r *http.Request) {
	p, tenant, refused := s.authorizeURL(r, jobs.ExportKey)
	if refused != nil {
		s.Refuse(w, refused.code, refused.reason)
		return
	}
	id, err := ids.Parse(p.Subject)
	if err != nil {
		s.Refuse(w, apierr.ForbiddenAPIKey, "")
		return
	}
	x, err := tenant.Audience(r.Context(), id)
	if err != nil || x.List != p.Object {
		s.Refuse(w, apierr.ResourceNotFound, "")
		return
	}
	parts, err := s.open(r.Context(), &x)
	if err != nil {
		s.Refuse(w, apierr.ServiceUnavailable, "the list cannot be read now")
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(s.Now().Add(exportTimeout)) // It fails only in tests, which have no connection.
	w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	w.Header().Set("Content-Disposition", "attachment")
	_, err = io.WriteString(w, strings.Join(jobs.ListColumns[:], ",")+"\n")
	for _, part := range parts {
		if err == nil {
			_, err = io.Copy(w, part)
		}
		_ = part.Close() // It was only read.
	}
	if err != nil {
		panic(http.ErrAbortHandler) // The client must not take a part of the list for the whole.
	}
}

// open opens all parts, before the first byte is sent.
func (s *OffsiteService) open(ctx context.Context, x *store.Audience) ([]blob.File, error) {
	var parts []blob.File
	for n := range x.Parts {
		f, err := s.Blobs.Open(ctx, store.ListPart(x.List, n))
		if err != nil {
			for _, open := range parts {
				_ = open.Close() // It was only read.
			}
			return nil, err
		}
		parts = append(parts, f)
	}
	return parts, nil
}
