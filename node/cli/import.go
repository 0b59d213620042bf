package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gavel-ads/gavel/node/importer"
)

// importCommand sends the rows of a file to a running node.
type importCommand struct {
	What    string `arg:"" enum:"catalog,vendors,campaigns" help:"catalog, vendors or campaigns."`
	File    string `arg:"" help:"CSV with a header, NDJSON (a JSON object on each line), or Apache Parquet."`
	Format  string `enum:"csv,ndjson,parquet," default:"" help:"csv, ndjson or parquet; default: by the name, .csv, .ndjson, .jsonl or .parquet." placeholder:"csv|ndjson|parquet"`
	Errors  string `help:"File of the rows that failed; default: FILE.errors." placeholder:"FILE"`
	Restart bool   `help:"Ignore FILE.progress and send every row."`
	Manage  string `help:"Management listener of a node. [GAVEL_MANAGE]" placeholder:"URL"`
	Key     string `help:"Management key of the marketplace. Prefer the variable: the process list shows flags. [GAVEL_MANAGE_KEY]" placeholder:"KEY"`
}

// Help describes the columns and what a repeat does.
func (importCommand) Help() string {
	return `Columns are named as the members of the management API: id, name, vendors, categories and price of a product; a dot names a
member of a member, such as brand.id or budget.amount. Columns that are unknown, missing or there twice are an error before
anything is sent. In CSV an empty cell is absent, | separates the items of a list, and an object or array is JSON. NDJSON has
the same members as the API. A campaign needs vendorId, name, campaignType, and either bids, which is JSON, or bidProducts and
bidAmount: one bid of that amount for each product.

Parquet has the columns of CSV. Texts may also be numbers, a list may be a list of texts, brand.id may be the member id of a
group brand, and times are timestamps or texts. Pages are plain, dictionary or run-length encoded, and uncompressed or
compressed with snappy, gzip or zstd. Memory: the pages of all columns that are read at once, at most 64 MiB each and 512 MiB
together; a file that needs more is refused before rows of that row group are sent.

A row that is wrong or that the node refuses is a line of JSON in FILE.errors, with its line (in Parquet the number of the row), column, value and the reason; the
others are imported. The exit code is 1 when rows failed. Each campaign is a request, so ratelimit.management of the node bounds
their speed: 45 in 2 seconds by default.

FILE.progress has the position after every batch. After an interruption the same command continues there: nothing is sent
twice but the last batch, and campaigns of it are recognised, so none is created twice. The same command after the end sends
what was appended to FILE, which Parquet does not allow. A catalog or list of vendors that has changed otherwise is sent again from its beginning; campaigns
only with --restart, which creates them again, unless externalCampaignId makes them unique. FILE.progress is valid for one
marketplace.

Example:
  GAVEL_MANAGE_KEY=… gavel import catalog products.csv`
}

// Run imports the file and prints how many rows it has and how many failed.
func (c *importCommand) Run(p *process) error {
	o := importer.Options{
		Kind: c.What, File: c.File, Format: c.Format, Errors: c.Errors, Restart: c.Restart,
		URL: cmp.Or(c.Manage, p.variable("GAVEL_MANAGE"), manageDefault), Key: cmp.Or(c.Key, p.variable("GAVEL_MANAGE_KEY")),
	}
	if o.Key == "" {
		return usageError{errors.New("gavel: --key or GAVEL_MANAGE_KEY is needed: a management key of the marketplace")}
	}
	f, err := os.Open(c.File)
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	shown, err := p.reading(f, "importing")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	o.Progress = shown.reached
	ctx, stop := untilSignal(context.Background())
	defer stop()
	r, err := importer.Run(ctx, o)
	shown.end()
	switch {
	case err != nil:
		return err
	case r.Nothing:
		fmt.Fprintf(p.out, "%s was imported before, with %s; nothing was sent; --restart sends it again\n", c.File, plural(int(r.Rows), "row"))
	default:
		fmt.Fprintf(p.out, "%s imported\n", plural(int(r.Rows-r.Failed), "row"))
	}
	if r.Failed > 0 {
		return fmt.Errorf("%d of %s failed, see %s", r.Failed, plural(int(r.Rows), "row"), r.Errors)
	}
	return nil
}
