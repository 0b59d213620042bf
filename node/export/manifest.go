package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Target is where exports are written; blob.Local and blob.S3 are targets.
type Target = blob.Paths

// Manifest says which files of a marketplace, hour and group are valid. It is written after them, so an hour with a manifest is complete.
type Manifest struct {
	SchemaVersion int       `json:"schemaVersion"`
	Marketplace   string    `json:"marketplace"`
	Group         ids.Group `json:"group"`
	From          time.Time `json:"from"` // Begin of the hour.
	To            time.Time `json:"to"`   // Its end, exclusive.
	Revision      int       `json:"revision"`
	Files         []File    `json:"files"`
}

// File is a file of a manifest.
type File struct {
	Dataset  Dataset          `json:"dataset"`
	Format   Format           `json:"format"`
	Path     string           `json:"path"` // Below the directory or prefix of the exports.
	Revision int              `json:"revision"`
	Rows     int64            `json:"rows"`
	Bytes    int64            `json:"bytes"`
	SHA256   string           `json:"sha256"`
	Sums     map[string]int64 `json:"sums"` // Of some columns, over all rows.
}

// cursor says what a group has exported: for each revision the first hour that does not have it yet.
type cursor struct {
	SchemaVersion int         `json:"schemaVersion"`
	Group         ids.Group   `json:"group"`
	Next          []time.Time `json:"next"`
}

// documentMax bounds a manifest or cursor. BOUND: a manifest has at most 8 files of some 500 bytes.
const documentMax = 64 << 10

func cursorPath(g ids.Group) string { return fmt.Sprintf("cursor/group=%d.json", g) }

// pathOf names what belongs to a marketplace, hour and group.
func pathOf(marketplace, what string, hour time.Time, g ids.Group) string {
	return fmt.Sprintf("%s/%s/date=%s/hour=%02d/group=%d", marketplace, what, hour.Format(time.DateOnly), hour.Hour(), g)
}

func manifestPath(marketplace string, hour time.Time, g ids.Group) string {
	return pathOf(marketplace, "manifest", hour, g) + ".json"
}

// readDocument reads a manifest or cursor. found is false when there is none.
func readDocument[T any](ctx context.Context, from Target, path string) (x T, found bool, err error) {
	text, err := from.ReadPath(ctx, path, documentMax)
	if errors.Is(err, blob.ErrNotFound) {
		return x, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &x)
	}
	if err != nil {
		return x, false, fmt.Errorf("%s: %w", path, err)
	}
	return x, true, nil
}

func writeDocument(ctx context.Context, to Target, path string, x any) error {
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	var r io.Reader = bytes.NewReader(append(text, '\n'))
	if err := to.PutPath(ctx, path, r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
