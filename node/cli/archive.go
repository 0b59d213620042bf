package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gavel-ads/gavel/node/backups"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
	"github.com/gavel-ads/gavel/node/operator"
)

// archiveCommand stores the log of a running cluster beside its backups.
type archiveCommand struct {
	target

	Dir            string        `required:"" help:"Directory of the backups, or s3://BUCKET/PREFIX." placeholder:"DIR"`
	Every          time.Duration `help:"Go on, and archive what was added after so long, at least 1s; 0: archive once." placeholder:"30s"`
	Local          bool          `help:"Archive the log as far as it is applied on the called node, without a read at the leaders; for a cluster without leaders."`
	EncryptTo      []string      `help:"As of gavel backup: the public key of age of somebody who can read it; repeat it for several." placeholder:"RECIPIENT"`
	RecipientsFile string        `help:"As of gavel backup: file with such keys, one on a line." placeholder:"FILE"`
	Config         string        `help:"Configuration file of the node, for the settings blob.* of s3:// addresses. [GAVEL_CONFIG]" placeholder:"FILE"`
}

// Help says what the archive is for and how it goes together with backups.
func (archiveCommand) Help() string {
	return `Stores the part of the log that was added since the last call as a file beside the backups, such as
gavel-20261127T050000.000Z.log.zst. With a backup and the files that follow it, gavel restore --at creates the cluster as it was
at any moment up to the end of the archive. What is archived every 30 seconds loses at most 30 seconds with the cluster.

gavel-archive.json in the same place says where the archive ends. gavel backup --keep deletes the files that no backup
needs any more. Files that overlap do no harm, so a call that was interrupted is simply repeated.

A node keeps the newest 120,000 entries of each group's log and more. When it has deleted entries that the archive lacks, or
when the cluster is another one, a warning says so and the archive begins anew: moments after the gap can be restored from the
next backup on, so take one at once.`
}

// archiveEveryMin is the shortest time between two segments.
const archiveEveryMin = time.Second

// Run archives once, or until a signal.
func (c *archiveCommand) Run(p *process) error {
	if c.Every != 0 && c.Every < archiveEveryMin {
		return usageError{fmt.Errorf("gavel: --every is %s; it is 0 or at least %s", c.Every, archiveEveryMin)}
	}
	a, err := c.archiver(p)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	if c.Every == 0 {
		return a.next(ctx)
	}
	for {
		// A node that is away now will be back, and the next segment has what this one lacks.
		if err := a.next(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(p.err, "gavel: %s; the next attempt is in %s\n", err, c.Every)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// archiver returns what the command line describes.
func (c *archiveCommand) archiver(p *process) (a *archiver, err error) {
	a = &archiver{p: p, local: c.Local}
	if a.recipients, err = backups.ReadRecipients(c.EncryptTo, c.RecipientsFile); err != nil {
		return nil, usageError{fmt.Errorf("gavel: %w", err)}
	}
	if a.client, err = c.client(p); err != nil {
		return nil, err
	}
	a.to, err = openBackupPlace(c.Dir, func() (config.Blob, error) { return bucketSettings(p, c.Config) })
	return a, err
}

// archiver stores one segment after the other.
type archiver struct {
	p          *process
	client     operator.Client
	to         backupPlace
	recipients backups.Recipients
	local      bool
}

// next stores what was added to the log since the position, and then the new position. A crash between the two makes the
// next segment overlap.
func (a *archiver) next(ctx context.Context) error {
	position, err := a.position(ctx)
	if err != nil {
		return err
	}
	s, name, err := a.store(ctx, position)
	if operator.IsRefused(err) && len(position.After) > 0 {
		fmt.Fprintf(a.p.err, "WARNING: the archive cannot be continued, and begins anew: %s\n"+
			"Moments from now on can be restored only with a backup from now on: take one (gavel backup)\n", err)
		s, name, err = a.store(ctx, backups.Position{Newest: position.Newest})
	}
	if err != nil {
		return err
	}
	after := map[uint16]uint64{}
	entries := uint64(0)
	for _, span := range s.Groups {
		after[span.Group] = span.Index
		entries += span.Index - span.After
	}
	text, err := json.Marshal(backups.Position{Cluster: s.Cluster, Newest: name, After: after})
	if err != nil {
		return err
	}
	if err := a.to.Put(ctx, backups.PositionName, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.p.out, "%s: %s, up to %s\n", a.to.Path(name), plural(int(entries), "record"), s.TakenAt.Format(time.RFC3339))
	return err
}

// position returns where the archive ends; its zero value begins a new archive.
func (a *archiver) position(ctx context.Context) (p backups.Position, err error) {
	exists, err := a.to.Exists(ctx, backups.PositionName)
	if err != nil || !exists {
		return p, err
	}
	f, _, err := a.to.Open(ctx, backups.PositionName)
	if err != nil {
		return p, err
	}
	text, err := io.ReadAll(io.LimitReader(f, backups.PositionBytesMax))
	if err = errors.Join(err, f.Close()); err != nil {
		return p, err
	}
	return backups.ReadPosition(text)
}

// store stores what follows a position.
func (a *archiver) store(ctx context.Context, after backups.Position) (s daemon.Segment, name string, err error) {
	name = after.NextSegment(time.Now(), len(a.recipients) > 0)
	request := operator.LogRequest{Cluster: after.Cluster, After: after.After, Local: a.local}
	err = a.to.Put(ctx, name, func(w io.Writer) error {
		encrypted, err := backups.Encrypted(w, a.recipients)
		if err != nil {
			return err
		}
		compressed, err := backups.Compressed(encrypted)
		if err != nil {
			return err
		}
		s, err = receive(func(w io.Writer) error { return a.client.ArchiveLog(ctx, w, request) }, daemon.VerifySegment, compressed)
		if err = errors.Join(err, compressed.Close()); err != nil {
			return err
		}
		return encrypted.Close()
	})
	return s, name, err
}
