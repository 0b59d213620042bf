package export

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
)

// exportHour writes a revision of an hour of a group, for all marketplaces. It reports whether any of them has something to export.
func (e *Exporter) exportHour(ctx context.Context, g ids.Group, hour time.Time, revision int, now time.Time) (wrote bool, err error) {
	for _, m := range e.Marketplaces() {
		some, err := e.exportMarketplace(ctx, e.Store.Tenant(m), g, hour, revision, now)
		if err != nil {
			return false, fmt.Errorf("group %d, marketplace %d, hour %s: %w", g, m, hour.Format(time.RFC3339), err)
		}
		wrote = wrote || some
	}
	if wrote {
		e.Log.Debug("hour_exported", slog.Int("group", int(g)), slog.Time("hour", hour), slog.Int("revision", revision))
	}
	return wrote, nil
}

// exportMarketplace writes the files of a marketplace's hour and their manifest. A marketplace whose manifest is there already is
// skipped, and one without rows gets none.
func (e *Exporter) exportMarketplace(
	ctx context.Context, t store.Tenant, g ids.Group, hour time.Time, revision int, now time.Time,
) (wrote bool, err error) {
	id := t.Settings().ID.String()
	path := manifestPath(id, hour, g)
	old, found, err := readDocument[Manifest](ctx, e.Target, path)
	if err != nil || found && old.Revision >= revision {
		return found, err
	}
	m := Manifest{
		SchemaVersion: SchemaVersion, Marketplace: id, Group: g, From: hour, To: hour.Add(time.Hour), Revision: revision,
	}
	for _, d := range Datasets {
		files := slices.DeleteFunc(slices.Clone(old.Files), func(f File) bool { return f.Dataset != d })
		if !found && d.isFixed() || canChange(d, hour, now) {
			if files, err = e.exportDataset(ctx, t, g, d, hour, pathOf(id, string(d), hour, g)); err != nil {
				return false, err
			}
		}
		for i := range files {
			if f := &files[i]; f.Dataset == "" {
				f.Dataset, f.Revision = d, revision
			}
		}
		m.Files = append(m.Files, files...)
	}
	if !found && len(m.Files) == 0 {
		return false, nil
	}
	return true, writeDocument(ctx, e.Target, path, m)
}

// canChange reports whether a new revision of an hour has another content, as far as the group still has it.
func canChange(d Dataset, hour, now time.Time) bool {
	switch d {
	case Rollups:
		return true
	case Conversions:
		return now.Truncate(day).Sub(hour.Truncate(day)) < shard.CreditDays*day // Kept days are UTC days, and Truncate counts in UTC.
	default:
		return false
	}
}

// exportDataset writes the files of one dataset.
func (e *Exporter) exportDataset(ctx context.Context, t store.Tenant, g ids.Group, d Dataset, hour time.Time, path string) (files []File, err error) {
	span := shard.Span{From: hour.UnixMilli(), To: hour.Add(time.Hour).UnixMilli()}
	switch d {
	case Conversions:
		files, err = writeSegment(ctx, e.Target, path, e.Formats, conversionsOf(ctx, t, g, span))
	case Rollups:
		files, err = writeSegment(ctx, e.Target, path, e.Formats, rollupsOf(ctx, t, g, span))
	case Events:
		files, err = writeSegment(ctx, e.Target, path, e.Formats, eventsOf(ctx, t, g, span))
	default:
		files, err = writeSegment(ctx, e.Target, path, e.Formats, journalOf(ctx, t, g, span))
	}
	for i := range files {
		e.files.Add(1)
		if i == 0 {
			e.rows.Add(uint64(files[i].Rows)) // Not negative.
		}
	}
	return files, err
}

// producer calls its argument with rows, in the same order each time.
type producer[R row] = func(add func(R) error) error

func journalOf(ctx context.Context, t store.Tenant, g ids.Group, span shard.Span) producer[JournalRow] {
	return func(add func(JournalRow) error) error {
		return t.ExportJournal(ctx, g, span, func(l *store.ExportedLine) error { return add(RowOfLine(g, l)) })
	}
}

func conversionsOf(ctx context.Context, t store.Tenant, g ids.Group, span shard.Span) producer[ConversionRow] {
	return func(add func(ConversionRow) error) error {
		return t.ExportCredits(ctx, g, span, func(c *store.ExportedCredit) error { return add(RowOfCredit(g, c)) })
	}
}

func rollupsOf(ctx context.Context, t store.Tenant, g ids.Group, span shard.Span) producer[RollupRow] {
	return func(add func(RollupRow) error) error {
		return t.ExportCells(ctx, g, span, func(c *store.ExportedCell) error { return add(rollupRow(g, c)) })
	}
}

// Write writes what the given groups have of a dataset now, group by group, to w. It returns the number of rows.
func Write(ctx context.Context, t store.Tenant, groups []ids.Group, d Dataset, span shard.Span, f Format, w io.Writer) (rows int64, err error) {
	switch d {
	case Conversions:
		return writeAll(groups, f, w, func(g ids.Group) producer[ConversionRow] { return conversionsOf(ctx, t, g, span) })
	case Rollups:
		return writeAll(groups, f, w, func(g ids.Group) producer[RollupRow] { return rollupsOf(ctx, t, g, span) })
	case Events:
		return writeAll(groups, f, w, func(g ids.Group) producer[EventRow] { return eventsOf(ctx, t, g, span) })
	default:
		return writeAll(groups, f, w, func(g ids.Group) producer[JournalRow] { return journalOf(ctx, t, g, span) })
	}
}

func writeAll[R row](groups []ids.Group, f Format, w io.Writer, of func(ids.Group) producer[R]) (rows int64, err error) {
	e, err := newEncoder[R](f, w)
	if err != nil {
		return 0, err
	}
	for _, g := range groups {
		err := of(g)(func(r R) error {
			rows++
			return e.encode([]R{r})
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, e.close()
}
