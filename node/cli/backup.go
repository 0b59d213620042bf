package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/backups"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
	"github.com/gavel-ads/gavel/node/operator"
)

// backupCommand writes the state of a running cluster to a file or an object of a bucket.
type backupCommand struct {
	target

	Out            string   `xor:"where" required:"" help:"File to write, or s3://BUCKET/NAME; it is created when the backup is complete and verified." placeholder:"FILE"`
	Dir            string   `xor:"where" required:"" help:"Directory, or s3://BUCKET/PREFIX, for a backup named by the time, such as gavel-20261123T080000Z.bak; for backups on a schedule." placeholder:"DIR"`
	Keep           int      `help:"With --dir: after the new backup is verified, delete all but the newest N, and what gavel archive stored before the oldest of them; 0: delete none." placeholder:"N"`
	Force          bool     `help:"Replace an existing file."`
	Local          bool     `help:"Read the node's own replicas as they are, without a read at the leaders; for a cluster without leaders."`
	EncryptTo      []string `help:"Encrypt the backup for the owner of this public key of age (age1…); repeat it for several, each of whom can read it alone." placeholder:"RECIPIENT"`
	RecipientsFile string   `help:"Encrypt the backup for the public keys in this file, one on a line." placeholder:"FILE"`
	Config         string   `help:"Configuration file of the node, for the settings blob.* of s3:// addresses. [GAVEL_CONFIG]" placeholder:"FILE"`
}

// Help says what a backup contains and what not.
func (backupCommand) Help() string {
	return `Reads the state of all groups from a node: campaigns, wallets, journal, catalog, keys, and what is needed to charge no event
twice. The cluster accepts events meanwhile. The state of each group is that of one moment during the call; a wallet and its
campaigns are always in one group. Uploaded files are not included: save the bucket or the directory of blobs as well.

The backup contains the cluster's secrets and the hashes of its keys. With --encrypt-to or --recipients-file it is encrypted
for keys of age (X25519) while it arrives, and its name ends in .bak.age; age-keygen makes a key, and gavel restore
--identity and age itself open it. Keep the secret key away from the cluster, and more than one recipient: without a secret
key nobody can read it. Otherwise its mode is 0600; encrypt it where you store it.

Each checksum is verified while the backup arrives, and the size and SHA-256 of what was stored when it is read back. Only
then are older backups deleted, and never the one that was just verified.

s3:// addresses use the service and the keys of blob.endpoint, blob.region, blob.access_key, blob.secret_key and
blob.insecure, whatever blob.driver is. Give the bucket a rule that deletes incomplete uploads after a day.`
}

// Run writes the backup.
func (c *backupCommand) Run(p *process) error {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	b, err := c.plan(ctx, p)
	if err != nil {
		return err
	}
	if err := b.write(ctx); err != nil || c.Keep == 0 {
		return err
	}
	return deleteOldBackups(ctx, p, b.to, b.name, c.Keep)
}

// plan checks the command line. It returns an error of usage when the backup exists already.
func (c *backupCommand) plan(ctx context.Context, p *process) (*plannedBackup, error) {
	if c.Keep < 0 || c.Keep > 0 && c.Dir == "" {
		return nil, usageError{fmt.Errorf("gavel: --keep is %d; it is 0 or more, and more than 0 needs --dir", c.Keep)}
	}
	recipients, err := backups.ReadRecipients(c.EncryptTo, c.RecipientsFile)
	if err != nil {
		return nil, usageError{fmt.Errorf("gavel: %w", err)}
	}
	client, err := c.client(p)
	if err != nil {
		return nil, err
	}
	where, name := c.Dir, backups.Name(time.Now(), len(recipients) > 0)
	if c.Dir == "" {
		where, name = splitBackup(c.Out)
	}
	if name == "" {
		return nil, usageError{fmt.Errorf("gavel: --out %s names no object; --dir chooses a name", c.Out)}
	}
	to, err := openBackupPlace(where, func() (config.Blob, error) { return bucketSettings(p, c.Config) })
	if err != nil {
		return nil, err
	}
	exists, err := to.Exists(ctx, name)
	if err != nil {
		return nil, err
	}
	if exists && !c.Force {
		return nil, usageError{fmt.Errorf("gavel: %s exists already; --force replaces it", to.Path(name))}
	}
	return &plannedBackup{p: p, client: client, to: to, name: name, recipients: recipients, local: c.Local}, nil
}

// plannedBackup is a backup that can be taken: what its command line says was checked.
type plannedBackup struct {
	p          *process
	client     operator.Client
	to         backupPlace
	name       string
	recipients backups.Recipients
	local      bool
}

// bucketSettings returns the settings of the S3 service, from the environment and the configuration file.
func bucketSettings(p *process, file string) (config.Blob, error) {
	flags := map[string]string{}
	if file != "" {
		flags["config"] = file
	}
	l, err := config.Load(config.Input{Defaults: config.Default(), Environ: p.environ, Flags: flags})
	if err != nil {
		return config.Blob{}, usageError{err}
	}
	return l.Blob, nil
}

// write stores a backup of the cluster and prints what it contains.
func (b *plannedBackup) write(ctx context.Context) error {
	var m daemon.Manifest
	size := int64(0)
	err := b.to.Put(ctx, b.name, func(w io.Writer) error {
		out := &progress{into: w, to: b.p.err, shown: b.p.errTerminal, what: "writing the backup"}
		defer func() {
			out.end()
			size = out.n
		}()
		encrypted, err := backups.Encrypted(out, b.recipients)
		if err != nil {
			return err
		}
		m, err = receive(func(w io.Writer) error { return b.client.Backup(ctx, w, b.local) }, daemon.VerifyBackup, encrypted)
		if err != nil {
			return err
		}
		return encrypted.Close()
	})
	if err != nil {
		return err
	}
	printManifest(b.p.out, &m)
	how := "verified"
	if len(b.recipients) > 0 {
		how = "encrypted for " + plural(len(b.recipients), "recipient") + ", verified"
	}
	_, err = fmt.Fprintf(b.p.out, "%s: %d bytes, %s\n", b.to.Path(b.name), size, how)
	return err
}

// receive writes what download writes to w, and verifies every checksum of it meanwhile: once it is encrypted, this machine
// cannot read it any more.
func receive[T any](download func(io.Writer) error, verify func(io.Reader) (T, error), w io.Writer) (m T, err error) {
	in, out := io.Pipe()
	var bad error
	verified := make(chan struct{})
	go func() {
		defer close(verified)
		m, bad = verify(in)
		_ = in.CloseWithError(bad) // It always succeeds; with an error it ends the download.
	}()
	err = download(io.MultiWriter(w, out))
	_ = out.CloseWithError(err) // It always succeeds; nil is the end.
	<-verified
	if err == nil {
		err = bad
	}
	return m, err
}

// deleteOldBackups deletes all but keep backups, of which one was just verified, and the segments of the log that none of
// these needs. It prints their names.
func deleteOldBackups(ctx context.Context, p *process, from backupPlace, verified string, keep int) error {
	names, err := from.Names(ctx)
	if err != nil {
		return fmt.Errorf("the backup is verified; no old one was deleted: %w", err)
	}
	old := backups.Old(names, verified, keep)
	left := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(old, name) })
	for _, name := range append(old, backups.OldSegments(left)...) {
		if err := from.Remove(ctx, name); err != nil {
			return fmt.Errorf("the backup is verified; an old file could not be deleted: %w", err)
		}
		fmt.Fprintf(p.out, "%s: deleted\n", from.Path(name))
	}
	return nil
}

func printManifest(w io.Writer, m *daemon.Manifest) {
	fmt.Fprintf(w, "backup of cluster %s by node %s at %s\n", m.Cluster, m.Node, m.TakenAt.Format(time.RFC3339))
	for _, g := range m.Groups {
		fmt.Fprintf(w, "group %d: entry %d of term %d, digest %s\n", g.Group, g.Index, g.Term, g.Digest)
	}
}

// backupSource is a stored backup, which is read as often as it is needed.
type backupSource struct {
	p          *process
	from       backupPlace
	name       string
	identities backups.Identities
}

// read calls fn with the plain content of the backup, and shows on a terminal how much of it was read.
func (s *backupSource) read(ctx context.Context, what string, fn func(io.Reader) error) error {
	f, size, err := s.from.Open(ctx, s.name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // It is only read.
	shown := &progress{from: f, to: s.p.err, shown: s.p.errTerminal, what: what, total: size}
	defer shown.end()
	plain, err := backups.Decrypted(shown, s.identities)
	if errors.Is(err, backups.ErrEncrypted) || errors.Is(err, backups.ErrPlain) {
		return usageError{fmt.Errorf("gavel: %s: %w", s.from.Path(s.name), err)}
	}
	if err == nil {
		err = fn(plain)
	}
	return err
}
