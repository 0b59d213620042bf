package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
)

// ExportRequest asks for the rows of a dataset from a time on, until another one.
type ExportRequest struct {
	Dataset  string // "journal", "conversions", "rollups" or "events".
	Format   string // "ndjson" or "parquet".
	From, To time.Time
}

// ErrNoEvents is returned by an export of events of a marketplace that keeps none.
var ErrNoEvents = errors.New("the marketplace keeps no events: its setting eventRetentionDays is 0")

// Exports writes what the groups of a node have recorded. An empty marketplace id is the first one; ErrNoSuch is returned
// for an unknown one, and ErrNoEvents.
type Exports interface {
	Export(ctx context.Context, marketplace string, r ExportRequest, w io.Writer) error
}

// exportPath is the path of the request on the socket.
const exportPath = "/operator/v1/export"

// exportTimeout bounds an export. BOUND: a node reads some million rows a second.
const exportTimeout = time.Hour

var errExport = errors.New("an export needs a dataset (journal, conversions, rollups or events), a format (ndjson or parquet), " +
	"and two times in RFC 3339, from before to")

func exportRequestOf(q url.Values) (ExportRequest, error) {
	from, noFrom := time.Parse(time.RFC3339, q.Get("from"))
	to, noTo := time.Parse(time.RFC3339, q.Get("to"))
	r := ExportRequest{Dataset: q.Get("dataset"), Format: q.Get("format"), From: from, To: to}
	dataset := r.Dataset == "journal" || r.Dataset == "conversions" || r.Dataset == "rollups" || r.Dataset == "events"
	if !dataset || r.Format != "ndjson" && r.Format != "parquet" || noFrom != nil || noTo != nil || !from.Before(to) || from.Unix() < 0 {
		return r, errExport
	}
	return r, nil
}

// export streams the rows. When it fails after the answer has begun, the connection is closed without the end of the answer.
func (h localHandler) export(w http.ResponseWriter, r *http.Request) {
	request, err := exportRequestOf(r.URL.Query())
	if err != nil {
		h.refuse(w, apierr.BadRequest, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), exportTimeout)
	defer cancel()
	// Writers that know no deadline have none that could end the answer early.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(exportTimeout))
	out := &begun{w: w}
	err = h.local.Export(ctx, marketplaceOf(r), request, out)
	switch {
	case err == nil:
	case out.any:
		panic(http.ErrAbortHandler) // The caller must not take half a file for a whole one.
	case errors.Is(err, ErrNoSuch):
		h.refuse(w, apierr.ResourceNotFound, err)
	case errors.Is(err, ErrNoEvents):
		h.refuse(w, apierr.InvalidOperation, err)
	default:
		h.refuse(w, apierr.ServiceUnavailable, err)
	}
}

// begun is a writer that knows whether anything was written.
type begun struct {
	w   io.Writer
	any bool
}

// Write writes b.
func (s *begun) Write(b []byte) (int, error) {
	s.any = true
	return s.w.Write(b)
}

// Export writes the rows to w. After an error w has a part of them.
func (c LocalClient) Export(ctx context.Context, marketplace string, r ExportRequest, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	q := url.Values{
		"marketplace": {marketplace}, "dataset": {r.Dataset}, "format": {r.Format},
		"from": {r.From.UTC().Format(time.RFC3339)}, "to": {r.To.UTC().Format(time.RFC3339)},
	}
	answer, err := c.send(ctx, http.MethodGet, exportPath+"?"+q.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(answer.Body, answerMax))
		return errors.Join(err, answer.Body.Close(), refusal(answer.Status, text))
	}
	_, err = io.Copy(w, answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("the answer of the node ended early: %w", err)
	}
	return nil
}
