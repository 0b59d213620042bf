package backups_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/age"

	"github.com/gavel-ads/gavel/node/backups"
)

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// encrypt returns a content, encrypted for recipients.
func encrypt(t *testing.T, content []byte, recipients ...string) []byte {
	t.Helper()
	to, err := backups.ReadRecipients(recipients, "")
	if err != nil {
		t.Fatal(err)
	}
	var stored bytes.Buffer
	w, err := backups.Encrypted(&stored, to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return stored.Bytes()
}

// decrypt reads a stored backup to its end.
func decrypt(r io.Reader, identities ...age.Identity) ([]byte, error) {
	plain, err := backups.Decrypted(r, identities)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(plain)
}

// Each recipient alone reads the backup, nobody else does, and it does not contain its content. A plain backup is read
// without identities only.
func TestEncryptionForSeveral(t *testing.T) {
	one, two, other := newIdentity(t), newIdentity(t), newIdentity(t)
	content := bytes.Repeat([]byte("a secret of the cluster. "), 20_000) // Several pieces of 64 KiB.
	stored := encrypt(t, content, one.Recipient().String(), two.Recipient().String())
	if bytes.Contains(stored, []byte("secret of the cluster")) {
		t.Error("the stored backup contains its content")
	}
	for _, ids := range [][]age.Identity{{one}, {two}, {other, two}} {
		if got, err := decrypt(bytes.NewReader(stored), ids...); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	plain := encrypt(t, content)
	if !bytes.Equal(plain, content) {
		t.Error("without recipients the content is changed")
	}
	if got, err := decrypt(bytes.NewReader(plain)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("plain: %d bytes, %v", len(got), err)
	}
	broken := errors.New("the disk failed")
	for name, c := range map[string]struct {
		stored io.Reader
		ids    []age.Identity
		want   error
	}{
		"another key":              {bytes.NewReader(stored), []age.Identity{other}, backups.ErrOtherKey},
		"no key":                   {bytes.NewReader(stored), nil, backups.ErrEncrypted},
		"a key for a plain backup": {bytes.NewReader(plain), []age.Identity{one}, backups.ErrPlain},
		"a key for nothing":        {bytes.NewReader(nil), []age.Identity{one}, backups.ErrPlain},
		"a disk that fails":        {io.MultiReader(bytes.NewReader(stored[:100_000]), iotest.ErrReader(broken)), []age.Identity{one}, broken},
		"one that fails at once":   {iotest.ErrReader(broken), []age.Identity{one}, broken},
	} {
		if _, err := decrypt(c.stored, c.ids...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// No changed byte, no cut and no addition is taken for the backup.
func TestDamagedEncryptedBackups(t *testing.T) {
	id := newIdentity(t)
	content := bytes.Repeat([]byte("0123456789"), 10_000)
	good := encrypt(t, content, id.Recipient().String())
	check := func(what string, at int, stored []byte) {
		t.Helper()
		_, err := decrypt(bytes.NewReader(stored), id)
		if !errors.Is(err, backups.ErrDamaged) && !errors.Is(err, backups.ErrOtherKey) && !errors.Is(err, backups.ErrPlain) {
			t.Errorf("%s at byte %d: %v", what, at, err)
		}
	}
	for at := 0; at < len(good); at += 1 + at/50 { // Every byte of the head, then fewer and fewer.
		changed := bytes.Clone(good)
		changed[at] ^= 1
		check("changed", at, changed)
		check("cut", at, good[:at])
	}
	for at := len(good) - 40; at < len(good); at++ {
		check("cut", at, good[:at])
	}
	check("one more", len(good), append(bytes.Clone(good), 0))
	check("repeated", len(good), append(bytes.Clone(good), good...))
}

// What is no key is refused by its place, and never printed: it might be a secret key.
func TestFilesOfKeys(t *testing.T) {
	id := newIdentity(t)
	public, secret := id.Recipient().String(), id.String()
	write := func(text string) string {
		name := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if ids, err := backups.ReadIdentities(write("# created: 2026-11-23\n# public key: " + public + "\n" + secret + "\n")); err != nil || len(ids) != 1 {
		t.Errorf("a file of age-keygen: %d keys, %v", len(ids), err)
	}
	if to, err := backups.ReadRecipients([]string{public}, write("# the safe\r\n\r\n"+public+"\r\n"+public)); err != nil || len(to) != 3 {
		t.Errorf("a flag and a file of two: %d recipients, %v", len(to), err)
	}
	recipients := func(keys []string, text string) error {
		_, err := backups.ReadRecipients(keys, write(text))
		return err
	}
	identities := func(text string) error {
		_, err := backups.ReadIdentities(write(text))
		return err
	}
	for want, err := range map[string]error{
		"recipient 2 is not":           recipients([]string{public, "age1nonsense"}, public),
		"recipient 1 is a secret key":  recipients([]string{secret}, public),
		"line 2 of":                    recipients(nil, "\n"+secret+"\n"),
		"line 1 of":                    recipients(nil, public+" "+public),
		"holds no key":                 recipients(nil, "# empty\n"),
		"more than 65536 bytes":        recipients(nil, strings.Repeat("#\n", 40_000)),
		"a backup has at most 64":      recipients(nil, strings.Repeat(public+"\n", 65)),
		"not the secret X25519 key":    identities(public),
		"is not the secret X25519 key": identities(strings.ToLower(secret) + "x"),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(secret[:30])) {
			t.Errorf("%v, want %q and no key", err, want)
		}
	}
	if _, err := backups.ReadIdentities(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
