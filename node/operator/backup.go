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

// backupStall is how long one write of a backup may take. BOUND: a caller that reads nothing for so long is given up, with
// the snapshot that it holds on to.
const backupStall = 60 * time.Second

// serveBackup streams a backup. When it fails on the way the connection is broken off, so that nobody takes what came for a
// backup; the stream's own checksums would tell too.
func (h handler) serveBackup(w http.ResponseWriter, r *http.Request) {
	out := &backupBody{w: w, c: http.NewResponseController(w)}
	err := h.cluster.Backup(r.Context(), out, r.URL.Query().Get("local") == "true")
	switch {
	case err == nil:
	case out.begun:
		panic(http.ErrAbortHandler)
	case r.Context().Err() != nil:
		h.refuse(w, apierr.RequestCanceled, nil)
	default:
		h.refuse(w, apierr.ServiceUnavailable, err)
	}
}

// backupBody is the body of a backup: every write has its own time.
type backupBody struct {
	w     http.ResponseWriter
	c     *http.ResponseController
	begun bool
}

// Write writes.
func (b *backupBody) Write(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.w.Header().Set("Content-Type", "application/octet-stream")
	}
	if err := b.c.SetWriteDeadline(time.Now().Add(backupStall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return b.w.Write(p)
}

// Backup writes a backup of the cluster to w. After an error what was written is of no use.
func (c Client) Backup(ctx context.Context, w io.Writer, local bool) error {
	path := "/backup"
	if local {
		path += "?local=true"
	}
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
		return errors.Join(refusal(answer.Status, text), err, answer.Body.Close())
	}
	if _, err := io.Copy(w, answer.Body); err != nil {
		return errors.Join(fmt.Errorf("the backup broke off: %w", err), answer.Body.Close())
	}
	return answer.Body.Close()
}
