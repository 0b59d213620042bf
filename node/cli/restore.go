package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
	"github.com/gavel-ads/gavel/node/fsck"
)

// restoreCommand creates a new cluster from a backup.
type restoreCommand struct {
	In     string `required:"" help:"File that gavel backup wrote." placeholder:"FILE"`
	DryRun bool   `help:"Restore into a temporary directory beside the data directory, check it, and delete it."`

	settings
}

// Help says what is lost and what to do next.
func (restoreCommand) Help() string {
	return `Turns an empty data directory into the first node of a new cluster, with the state of a backup. The command verifies every
checksum, compares the digest of every group with the backup's, and checks the data as gavel check does.

Charges made after the backup are lost, and with them the record of their events: an event that is reported again is charged
again. Restore only a cluster that is lost entirely; to repair a node of a running cluster, empty it and let it join.

Then start the node with the same settings, and the other nodes with empty directories.`
}

// Run verifies the backup, restores it and checks the result.
func (c *restoreCommand) Run(p *process) error {
	l, err := c.load(p, config.Default())
	if err != nil {
		return err
	}
	cfg := l.Config
	f, err := os.Open(c.In)
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	defer func() { _ = f.Close() }() // It is only read.
	reading, err := p.reading(f, "verifying the backup")
	if err != nil {
		return err
	}
	m, err := daemon.VerifyBackup(reading)
	reading.end()
	if err != nil {
		return err
	}
	printManifest(p.out, &m)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if !c.DryRun {
		fmt.Fprintf(p.out, "WARNING: what was written after %s is not in the backup: those changes and charges are lost, and events\n"+
			"that are reported again are charged again\n", m.TakenAt.Format(time.RFC3339))
		if err = restore(p, cfg, m, f); err == nil {
			fmt.Fprintf(p.out, "restored into %s; start the node with the same settings, the others with empty directories\n", cfg.DataDir)
		}
		return err
	}
	cfg.DataDir, err = os.MkdirTemp(filepath.Dir(filepath.Clean(cfg.DataDir)), "gavel-dry-run-")
	if err != nil {
		return err
	}
	err = errors.Join(restore(p, cfg, m, f), os.RemoveAll(cfg.DataDir))
	if err == nil {
		fmt.Fprintln(p.out, "dry run: the backup can be restored; it was restored beside the data directory, checked and deleted")
	}
	return err
}

// restore fills the data directory and checks it.
func restore(p *process, cfg config.Config, m daemon.Manifest, in *os.File) error {
	reading, err := p.reading(in, "restoring")
	if err != nil {
		return err
	}
	err = daemon.Restore(cfg, m, reading)
	reading.end()
	if err != nil {
		return err
	}
	r, err := fsck.Directory(vfs.Default, cfg.DataDir)
	if err == nil {
		err = r.WriteText(p.out)
	}
	if err == nil && !r.Clean() {
		err = errors.New("the check of the restored data found problems")
	}
	return err
}
