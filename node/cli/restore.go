package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/audit"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// restoreCommand makes a new cluster of a backup.
type restoreCommand struct {
	In     string `required:"" help:"File that gavel backup wrote." placeholder:"FILE"`
	DryRun bool   `help:"Restore into a temporary directory beside the data directory, audit it, and delete it again."`

	settings
}

// Help says what is lost and what to do next.
func (restoreCommand) Help() string {
	return `Makes an empty data directory the first node of a new cluster, with the state of a backup. Every checksum is verified, the
digest of every group must be the backup's, and the books are audited as by gavel check.

Charges made after the backup are lost, and the memory of their events with them: an event reported again is charged again.
Restore only what is lost entirely; a node of a living cluster is emptied and joins again.

Then start the node with the same settings, and start the other nodes with empty directories.`
}

// Run verifies, restores and audits.
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
	defer func() { _ = f.Close() }() // Read only.
	m, err := daemon.VerifyBackup(f)
	if err != nil {
		return err
	}
	printManifest(p.out, &m)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if !c.DryRun {
		return restore(p, cfg, m, f)
	}
	cfg.DataDir, err = os.MkdirTemp(filepath.Dir(filepath.Clean(cfg.DataDir)), "gavel-dry-run-")
	if err != nil {
		return err
	}
	err = errors.Join(restore(p, cfg, m, f), os.RemoveAll(cfg.DataDir))
	if err == nil {
		fmt.Fprintln(p.out, "dry run: the backup can be restored; nothing was kept")
	}
	return err
}

// restore fills the directory and audits it.
func restore(p *process, cfg config.Config, m daemon.Manifest, in io.Reader) error {
	if err := daemon.Restore(cfg, m, in); err != nil {
		return err
	}
	r, err := audit.Directory(vfs.Default, cfg.DataDir)
	if err == nil {
		err = r.WriteText(p.out)
	}
	if err == nil && !r.Clean() {
		err = errors.New("the restored books have problems")
	}
	if err == nil {
		fmt.Fprintf(p.out, "restored into %s; start the node with the same settings, the others with empty directories\n", cfg.DataDir)
	}
	return err
}
