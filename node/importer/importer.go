// Package importer sends the rows of a CSV, NDJSON or Parquet file through the management API: products, vendors or campaigns. Rows
// are checked before they are sent; those that fail go to a file of errors, and the import goes on. After every batch that
// the node has acknowledged, the position is stored in a progress file, so that an interrupted import continues there.
package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Bounds of what is sent at once. BOUND: a request has at most 500 items, and a body at most 8 MiB.
const (
	upsertRows   = 500
	campaignRows = 50
	batchBytes   = 4 << 20
)

// Options is what to import, and to which node.
type Options struct {
	Kind   string // catalog, vendors or campaigns.
	File   string
	Format string // csv, ndjson or parquet; "": by the end of the file's name.
	Errors string // File of the rows that failed; "": File with .errors appended.

	Restart bool // Ignores the progress file and sends every row.

	URL string // Management listener of a node.
	Key string // Management key of the marketplace.

	// Progress is called after every batch with the bytes of the file that are done.
	Progress func(done int64)

	wait func(context.Context, time.Duration) error // Nil: time passes; tests do not wait.
}

// Result counts the rows of the file, those of earlier interrupted runs included.
type Result struct {
	Rows, Failed int64
	Errors       string // File of the rows that failed.
	Nothing      bool   // The file was imported completely before, and nothing was sent.
}

// Run imports the rows that the progress file does not show as done. It returns an error if it could not go through the
// whole file; rows that failed are no error. Two imports of one file must not run at the same time.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Errors == "" {
		o.Errors = o.File + ".errors"
	}
	t, known := tables[o.Kind]
	if !known {
		return Result{}, fmt.Errorf("%q cannot be imported, only catalog, vendors and campaigns", o.Kind)
	}
	f, err := os.Open(o.File)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = f.Close() }() // It is only read.
	s, err := openProgress(f, &o, t)
	if err != nil {
		return Result{}, err
	}
	rows, err := openRows(f, o.format(), t, s.Offset, s.Lines)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", o.File, err)
	}
	im := importing{options: o, table: t, state: s, api: newAPI(o.URL, o.Key), rows: rows}
	if o.wait != nil {
		im.api.wait = o.wait
	}
	done, before := s.Done, s.Rows
	err = im.all(ctx)
	return Result{Rows: s.Rows, Failed: s.Failed, Errors: o.Errors, Nothing: done && err == nil && s.Rows == before}, err
}

// format returns the format of the file.
func (o *Options) format() string {
	switch name := strings.ToLower(o.File); {
	case o.Format != "":
		return o.Format
	case strings.HasSuffix(name, ".csv"):
		return "csv"
	case strings.HasSuffix(name, ".ndjson"), strings.HasSuffix(name, ".jsonl"):
		return "ndjson"
	case strings.HasSuffix(name, ".parquet"):
		return parquetFormat
	}
	return ""
}

// importing is an import in progress.
type importing struct {
	options Options
	table   *table
	state   *progress
	api     *api
	rows    rowReader
}

// all sends batches until the end of the file.
func (im *importing) all(ctx context.Context) error {
	for {
		batch, err := im.read()
		if err != nil {
			return fmt.Errorf("%s: %w", im.options.File, err)
		}
		if len(batch) == 0 {
			return im.state.finish()
		}
		done, err := im.send(ctx, batch)
		if done > 0 {
			err = errors.Join(err, im.state.advance(batch[:done]))
		}
		if err != nil {
			return err
		}
		if im.options.Progress != nil {
			im.options.Progress(im.bytesDone())
		}
	}
}

// bytesDone returns about how many bytes of the file are done.
func (im *importing) bytesDone() int64 {
	if p, yes := im.rows.(*parquetRows); yes {
		return int64(float64(p.size) * float64(im.state.Offset) / float64(max(1, p.total)))
	}
	return im.state.Offset
}

// read returns the next rows; none at the end of the file.
func (im *importing) read() (batch []*row, err error) {
	size := 0
	for len(batch) < im.table.batch && size < batchBytes {
		r, err := im.rows.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(r.faults) == 0 {
			im.table.complete(r)
		}
		size += len(r.body)
		batch = append(batch, r)
	}
	return batch, nil
}

// send sends the rows without faults, and returns how many rows from the first one are done: all without an error. Rows that
// the node refuses have a fault afterwards.
func (im *importing) send(ctx context.Context, batch []*row) (done int, err error) {
	if im.table.list != "" {
		if err := im.upsert(ctx, withoutFaults(batch)); err != nil {
			return 0, err
		}
		return len(batch), nil
	}
	for i, r := range batch {
		if len(r.faults) > 0 {
			continue
		}
		if err := im.create(ctx, r); err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

func withoutFaults(batch []*row) (good []*row) {
	for _, r := range batch {
		if len(r.faults) == 0 {
			good = append(good, r)
		}
	}
	return good
}

// upsert puts rows in one request. If the node refuses it, the rows that it names fail and the others are sent again; if it
// names none, each half is sent, so that the row at fault is found.
func (im *importing) upsert(ctx context.Context, rows []*row) error {
	if len(rows) == 0 {
		return nil
	}
	bodies := make([][]byte, len(rows))
	for i, r := range rows {
		bodies[i] = r.body
	}
	body := fmt.Appendf(nil, `{%q:[%s]}`, im.table.list, bytes.Join(bodies, []byte{','}))
	a, err := im.api.send(ctx, http.MethodPut, im.table.path, "", body)
	if err != nil || a.accepted() {
		return err
	}
	if len(rows) == 1 {
		rows[0].faults = a.faults(im.table.list)
		return nil
	}
	named := a.faultsByRow(im.table.list)
	for i, r := range rows {
		r.faults = named[i]
	}
	if rest := withoutFaults(rows); len(rest) < len(rows) {
		return im.upsert(ctx, rest)
	}
	if err := im.upsert(ctx, rows[:len(rows)/2]); err != nil {
		return err
	}
	return im.upsert(ctx, rows[len(rows)/2:])
}

// create creates a campaign. The Idempotency-Key follows from the import and the position of the row, so a repeat after an
// interruption creates nothing again, while a new import of the same file is new.
func (im *importing) create(ctx context.Context, r *row) error {
	a, err := im.api.send(ctx, http.MethodPost, im.table.path+"?vendor_id="+url.QueryEscape(r.vendor), im.state.keyOf(r), r.body)
	if err == nil && !a.accepted() {
		r.faults = a.faults("")
	}
	return err
}
