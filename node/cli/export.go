package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gavel-ads/gavel/node/operator"
)

// exportCommand writes a dataset to a file.
type exportCommand struct {
	Dataset     string `arg:"" enum:"journal,conversions,rollups,events" help:"What is written: journal (charges and what else moved money), conversions (items of purchases that were credited to ads), rollups (the counters of the reports) or events (each event as it was reported, of marketplaces that keep them)."`
	From        string `required:"" help:"Begin: a day, or a time with its zone; days are UTC." placeholder:"TIME"`
	To          string `required:"" help:"End: a time that is not included any more, or the last day." placeholder:"TIME"`
	Format      string `enum:"ndjson,parquet" default:"ndjson" help:"How rows are written: ndjson or parquet." placeholder:"FORMAT"`
	Out         string `required:"" help:"File to write; - is standard output." placeholder:"FILE"`
	Marketplace string `help:"Id of the marketplace; default: the first one." placeholder:"ID"`

	settings
}

// Help describes what is exported.
func (exportCommand) Help() string {
	return `A line of the journal and an event are dated by their commit, a credited item by the commit of its purchase, and a counter by
the local hour in which it happened. Credited items are kept for 90 days, events for the eventRetentionDays of the
marketplace's settings (not at all by default), everything else for ever. node/export/SCHEMA.md describes the columns. For
an export of every hour see --export-driver of gavel serve.

` + localHelp + `

Example:
  gavel export rollups --from 2026-11-01 --to 2026-11-30 --format parquet --out november.parquet`
}

// Run writes the file. It gets its name when it is complete.
func (c *exportCommand) Run(p *process) error {
	r := operator.ExportRequest{Dataset: c.Dataset, Format: c.Format}
	var err error
	if r.From, err = timeOf(c.From, 0); err != nil {
		return usageError{fmt.Errorf("gavel: --from: %w", err)}
	}
	if r.To, err = timeOf(c.To, 1); err != nil {
		return usageError{fmt.Errorf("gavel: --to: %w", err)}
	}
	if !r.From.Before(r.To) || r.From.Unix() < 0 {
		return usageError{errors.New("gavel: --from must be before --to, and after 1970")}
	}
	write := func(w io.Writer) error {
		return c.withLocal(p, func(ctx context.Context, local operator.Local) error { return local.Export(ctx, c.Marketplace, r, w) })
	}
	if c.Out == "-" {
		return write(p.out)
	}
	part := c.Out + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, c.Out)
}

// timeOf reads a time, or a day to which it adds days.
func timeOf(text string, days int) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, days), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%q is neither a day such as 2026-11-23 nor a time such as 2026-11-23T15:00:00Z", text)
	}
	return at, nil
}
