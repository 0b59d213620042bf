package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-ads/gavel/node/daemon"
	"github.com/gavel-ads/gavel/node/operator"
)

// cellsMove takes a marketplace out of its cell, so that it can be opened in another one.
type cellsMove struct {
	target

	Marketplace string `arg:"" help:"Id of the marketplace, as the marketplace service of the first marketplace lists it."`

	Out            string   `required:"" help:"File of the backup with which the marketplace moves, or s3://BUCKET/NAME." placeholder:"FILE"`
	Force          bool     `help:"Replace an existing file."`
	EncryptTo      []string `help:"As of gavel backup: the public key of age of somebody who can read it; repeat it for several." placeholder:"RECIPIENT"`
	RecipientsFile string   `help:"As of gavel backup: file with such keys, one on a line." placeholder:"FILE"`
	Config         string   `help:"Configuration file of the node, for the settings blob.* of s3:// addresses. [GAVEL_CONFIG]" placeholder:"FILE"`
}

// Help says how a marketplace moves, and what its clients see.
func (cellsMove) Help() string {
	return `Moves a marketplace to a new cell without losing or charging anything twice:

  1. gavel cells move ID --out FILE closes the marketplace in its cell and takes a backup.
  2. gavel restore --in FILE --only ID, on an empty data directory, makes the new cell's first node of it. The marketplace is
     open there, all others of the old cell are closed there. Start the node, and let others join.
  3. Change the file of cells, render the configuration of the load balancer, and reload it.

From step 1 to step 3 auctions, events and changes of the marketplace are answered 503; reading goes on, and so do the other
marketplaces. Clients that repeat what was answered 503 lose nothing: what was recorded before is recognised in the new cell, with
the same keys and tokens. The interruption is about the time of a backup and a restore.

Uploaded files are not in a backup: both cells need the same bucket, or copy the directory of blobs between step 1 and 2. Webhooks
and sinks deliver what was waiting in step 1 from both cells, under the same ids.

The closed marketplace stays in the old cell and can be read there. A backup that fails opens it again, unless it was closed before.
Before step 2 the move can be given up with gavel cells open ID.`
}

// Run closes the marketplace, takes the backup, and says what to do next.
func (c *cellsMove) Run(p *process) error {
	id, err := daemon.ParseMarketplace(c.Marketplace)
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	b := backupCommand{
		target: c.target, Out: c.Out, Force: c.Force, EncryptTo: c.EncryptTo, RecipientsFile: c.RecipientsFile, Config: c.Config,
	}
	planned, err := b.plan(ctx, p)
	if err != nil {
		return err
	}
	before, err := planned.client.Marketplace(ctx, id)
	if err != nil {
		return err
	}
	m, err := planned.client.SetClosed(ctx, id, true) // Also when it is closed, perhaps in a part of the cell.
	if err != nil {
		return fmt.Errorf("the marketplace is perhaps closed in a part of the cell; repeat the command, or open it with "+
			"gavel cells open %s: %w", id, err)
	}
	fmt.Fprintf(p.out, "closed %s (%s)\n", m.ID, m.Name)
	switch err := planned.write(ctx); {
	case err != nil && before.Closed: // It may be open in another cell by now.
		return fmt.Errorf("%w\nthe marketplace stays closed, as it was before this command; unless it is open in another cell, "+
			"gavel cells open %s opens it", err, id)
	case err != nil:
		return errors.Join(err, reopen(p, planned.client, id))
	}
	_, err = fmt.Fprintf(p.out, "now, for the first node of the new cell: gavel restore --in %s --only %s\n"+
		"then start it, change the file of cells and reload the load balancer; until then clients are answered 503\n",
		planned.to.Path(planned.name), id)
	return err
}

// reopenMax bounds how long a failed move tries to open the marketplace again.
const reopenMax = 30 * time.Second

// reopen opens a marketplace whose backup failed, also when a signal has ended the backup.
func reopen(p *process, client operator.Client, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), reopenMax)
	defer cancel()
	if _, err := client.SetClosed(ctx, id, false); err != nil {
		return fmt.Errorf("the marketplace is still closed; gavel cells open %s opens it: %w", id, err)
	}
	_, err := fmt.Fprintf(p.out, "opened %s again, because there is no backup\n", id)
	return err
}

// cellsOpen gives up a move.
type cellsOpen struct {
	target

	Marketplace string `arg:"" help:"Id of the marketplace."`
}

// Help says when it must not be used.
func (cellsOpen) Help() string {
	return `Opens a marketplace again that gavel cells move has closed. Never do that once it is open in another cell: each cell would have
its own copy of the wallets, and both would spend them.`
}

// Run opens the marketplace.
func (c *cellsOpen) Run(p *process) error {
	id, err := daemon.ParseMarketplace(c.Marketplace)
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	return c.ask(p, "opened "+id, func(ctx context.Context, client operator.Client) error {
		_, err := client.SetClosed(ctx, id, false)
		return err
	})
}
