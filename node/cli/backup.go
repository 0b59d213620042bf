package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gavel-ads/gavel/node/daemon"
)

// backupCommand writes the state of a running cluster to a file.
type backupCommand struct {
	target

	Out   string `xor:"where" required:"" help:"File to write; it is created when the backup is complete, synced and verified." placeholder:"FILE"`
	Dir   string `xor:"where" required:"" help:"Directory for a backup named by the time, such as gavel-20261123T080000Z.bak; for backups on a schedule." placeholder:"DIR"`
	Keep  int    `help:"With --dir: after the new backup is verified, delete all but the newest N; 0: delete none." placeholder:"N"`
	Force bool   `help:"Replace an existing file."`
	Local bool   `help:"Read the node's own replicas as they are, without a read at the leaders; for a cluster without leaders."`
}

// Help says what a backup contains and what not.
func (backupCommand) Help() string {
	return `Reads the state of all groups from a node: campaigns, wallets, journal, catalog, keys, and what is needed to charge no event
twice. The cluster accepts events meanwhile. The state of each group is that of one moment during the call; a wallet and its
campaigns are always in one group. Uploaded files are not included: save the bucket or the directory of blobs as well.

The file contains the cluster's secrets and the hashes of its keys, unencrypted. Its mode is 0600; encrypt it where you store it.`
}

// Run writes the backup.
func (c *backupCommand) Run(p *process) error {
	if c.Keep < 0 || c.Keep > 0 && c.Dir == "" {
		return usageError{fmt.Errorf("gavel: --keep is %d; it is 0 or more, and more than 0 needs --dir", c.Keep)}
	}
	client, err := c.client(p)
	if err != nil {
		return err
	}
	if c.Dir != "" {
		c.Out = filepath.Join(c.Dir, backupName(time.Now()))
	}
	if _, err := os.Lstat(c.Out); err == nil && !c.Force {
		return usageError{fmt.Errorf("gavel: %s exists already; --force replaces it", c.Out)}
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	size := int64(0)
	err = writeAtomically(c.Out, func(f *os.File) error {
		out := &progress{file: f, to: p.err, shown: p.errTerminal, what: "writing the backup"}
		err := client.Backup(ctx, out, c.Local)
		out.end()
		size = out.n
		return err
	}, func(f *os.File) error {
		m, err := daemon.VerifyBackup(f)
		if err == nil {
			printManifest(p.out, &m)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s: %d bytes, verified\n", c.Out, size)
	if err != nil || c.Keep == 0 {
		return err
	}
	deleted, err := deleteOldBackups(c.Dir, c.Keep)
	for _, name := range deleted {
		fmt.Fprintf(p.out, "%s: deleted\n", filepath.Join(c.Dir, name))
	}
	return err
}

// writeAtomically creates a file that is either complete or absent: it writes under another name, syncs, reads back and
// verifies, and renames.
func writeAtomically(path string, write, verify func(*os.File) error) error {
	temporary := path + ".partial"
	// An existing file keeps its mode and may be open elsewhere, so it is removed and not overwritten.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = verify(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func printManifest(w io.Writer, m *daemon.Manifest) {
	fmt.Fprintf(w, "backup of cluster %s by node %s at %s\n", m.Cluster, m.Node, m.TakenAt.Format(time.RFC3339))
	for _, g := range m.Groups {
		fmt.Fprintf(w, "group %d: entry %d of term %d, digest %s\n", g.Group, g.Index, g.Term, g.Digest)
	}
}
