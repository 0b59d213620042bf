package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
)

// backupWriteTimeout bounds one write of a backup. BOUND: a client that does not read for so long is disconnected,
// because its backup holds a snapshot of the database.
const backupWriteTimeout = 60 * time.Second

// serveBackup streams a backup. When it fails after the first byte, the connection is aborted, so that the client does
// not take an incomplete file for a backup; the checksums of the stream show it, too.
func (h handler) serveBackup(w http.ResponseWriter, r *http.Request) {
	h.stream(w, r, func(out io.Writer) error {
		return h.cluster.Backup(r.Context(), out, r.URL.Query().Get("local") == "true")
	})
}

// stream answers with what write writes, or with its error.
func (h handler) stream(w http.ResponseWriter, r *http.Request, write func(io.Writer) error) {
	out := &backupBody{w: w, c: http.NewResponseController(w)}
	err := write(out)
	var final refused
	switch {
	case err == nil:
	case out.begun:
		panic(http.ErrAbortHandler)
	case r.Context().Err() != nil:
		h.refuse(w, apierr.RequestCanceled, nil)
	case errors.As(err, &final):
		h.refuse(w, apierr.InvalidOperation, err)
	default:
		h.refuse(w, apierr.ServiceUnavailable, err)
	}
}

// backupBody is the body of a backup or of a part of the log, with a deadline for every write.
type backupBody struct {
	w     http.ResponseWriter
	c     *http.ResponseController
	begun bool
}

// Write writes to the client.
func (b *backupBody) Write(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.w.Header().Set("Content-Type", "application/octet-stream")
	}
	if err := b.c.SetWriteDeadline(time.Now().Add(backupWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return b.w.Write(p)
}

// Backup writes a backup of the cluster to w. After an error the written bytes are useless.
func (c Client) Backup(ctx context.Context, w io.Writer, local bool) error {
	path := "/backup"
	if local {
		path += "?local=true"
	}
	return c.download(ctx, path, "the backup", w)
}

// download writes the answer to a request to w; what names it in an error.
func (c Client) download(ctx context.Context, path, what string, w io.Writer) error {
	r, err := c.request(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(answer.Body, answerMax))
		return errors.Join(downloadRefusal(answer.StatusCode, refusal(answer.Status, text)), err, answer.Body.Close())
	}
	if _, err := io.Copy(w, answer.Body); err != nil {
		return errors.Join(fmt.Errorf("%s is incomplete: %w", what, err), answer.Body.Close())
	}
	return answer.Body.Close()
}

// downloadRefusal marks the refusal that the same request will get again.
func downloadRefusal(status int, err error) error {
	if status == http.StatusConflict {
		return Refused(err)
	}
	return err
}
