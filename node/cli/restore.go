package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/backups"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
	"github.com/gavel-ads/gavel/node/fsck"
)

// restoreCommand creates a new cluster from a backup.
type restoreCommand struct {
	In       string `required:"" help:"File that gavel backup wrote, or s3://BUCKET/NAME." placeholder:"FILE"`
	Identity string `help:"Of an encrypted backup: file with secret keys of age (AGE-SECRET-KEY-1…), one of which opens it." placeholder:"FILE"`
	At       string `help:"Replay the log that gavel archive stored, up to this time (such as 2026-11-27T05:00:00Z), or latest: to its end." placeholder:"TIME"`
	Log      string `help:"With --at: directory or s3://BUCKET/PREFIX of the archive, if it is not where the backup is." placeholder:"DIR"`
	Only     string `help:"Open this marketplace, which gavel cells move has closed in its old cell, and close all others." placeholder:"ID"`
	DryRun   bool   `help:"Restore into a temporary directory beside the data directory, check it, and delete it."`

	settings
}

// Help says what is lost and what to do next.
func (restoreCommand) Help() string {
	return `Turns an empty data directory into the first node of a new cluster, with the state of a backup. The command verifies every
checksum, compares the digest of every group with the backup's, and checks the data as gavel check does. An encrypted backup
is read twice and never stored in plain text. Of an s3:// address the service and the keys are those of blob.endpoint,
blob.region, blob.access_key, blob.secret_key and blob.insecure.

With --at the commands behind the backup are replayed, up to and including the given moment, and the digest of every group is
compared at the end of each part of the archive. An archive that ends before that moment, that has a gap or that is damaged is
refused before anything is written.

Charges made after the backup, or after the moment of --at, are lost, and with them the record of their events: an event that is reported again is charged
again. Restore only a cluster that is lost entirely; to repair a node of a running cluster, empty it and let it join.

Then start the node with the same settings, and the other nodes with empty directories.`
}

// Run verifies the backup, restores it and checks the result.
func (c *restoreCommand) Run(p *process) error {
	if c.Log != "" && c.At == "" {
		return usageError{errors.New("gavel: --log needs --at: latest, or the time up to which the log is replayed")}
	}
	if c.Only != "" {
		var err error
		if c.Only, err = daemon.ParseMarketplace(c.Only); err != nil {
			return usageError{fmt.Errorf("gavel: --only: %w", err)}
		}
	}
	l, err := c.load(p, config.Default())
	if err != nil {
		return err
	}
	cfg := l.Config
	backup, err := c.source(p, &cfg)
	if err != nil {
		return err
	}
	ctx := context.Background() // A signal ends the process, and the restore may be run again.
	var m daemon.Manifest
	err = backup.read(ctx, "verifying the backup", func(r io.Reader) (err error) {
		m, err = daemon.VerifyBackup(r)
		return err
	})
	if err != nil {
		return err
	}
	printManifest(p.out, &m)
	history, err := c.archivedLog(ctx, p, &cfg, backup, &m)
	if err == nil && history != nil {
		err = history.verify(ctx, m)
	}
	if err != nil {
		return err
	}
	if !c.DryRun {
		printLoss(p.out, &m, history, c.Only)
		if err = restore(ctx, cfg, m, backup, history, c.Only); err == nil {
			fmt.Fprintf(p.out, "restored into %s; start the node with the same settings, the others with empty directories\n", cfg.DataDir)
		}
		return err
	}
	cfg.DataDir, err = os.MkdirTemp(filepath.Dir(filepath.Clean(cfg.DataDir)), "gavel-dry-run-")
	if err != nil {
		return err
	}
	err = errors.Join(restore(ctx, cfg, m, backup, history, c.Only), os.RemoveAll(cfg.DataDir))
	if err == nil {
		fmt.Fprintln(p.out, "dry run: the backup can be restored; it was restored beside the data directory, checked and deleted")
	}
	return err
}

// printLoss says from which moment on everything is lost.
func printLoss(w io.Writer, m *daemon.Manifest, history *archivedLog, only string) {
	if only != "" {
		fmt.Fprintf(w, "marketplace %s is opened, and loses nothing, because it was closed before the backup; all others are closed\n", only)
		return
	}
	end := "after " + m.TakenAt.Format(time.RFC3339) + " is not in the backup"
	switch {
	case history == nil:
	case history.until.IsZero():
		end = "after the end of the archive is not in it"
	default:
		end = "after " + history.until.Format(time.RFC3339Nano) + " is not replayed"
	}
	fmt.Fprintf(w, "WARNING: what was written %s: those changes and charges are lost, and events\n"+
		"that are reported again are charged again\n", end)
}

// source returns the backup that the command line names.
func (c *restoreCommand) source(p *process, cfg *config.Config) (*backupSource, error) {
	where, name := splitBackup(c.In)
	from, err := openBackupPlace(where, func() (config.Blob, error) { return cfg.Blob, nil })
	if err != nil {
		return nil, err
	}
	s := &backupSource{p: p, from: from, name: name}
	if c.Identity == "" {
		return s, nil
	}
	if s.identities, err = backups.ReadIdentities(c.Identity); err != nil {
		return nil, usageError{fmt.Errorf("gavel: --identity: %w", err)}
	}
	return s, nil
}

// restore fills the data directory and checks it.
func restore(ctx context.Context, cfg config.Config, m daemon.Manifest, backup *backupSource, history *archivedLog, only string) error {
	err := backup.read(ctx, "restoring", func(r io.Reader) error {
		want := daemon.Wanted{Only: only}
		if history != nil {
			replayed := history.history(ctx)
			want.History = &replayed
		}
		return daemon.Restore(cfg, m, r, want)
	})
	if err != nil {
		return err
	}
	r, err := fsck.Directory(vfs.Default, cfg.DataDir)
	if err == nil {
		err = r.WriteText(backup.p.out)
	}
	if err == nil && !r.Clean() {
		err = errors.New("the check of the restored data found problems")
	}
	return err
}
