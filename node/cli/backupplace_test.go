package cli

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/gavel-ads/gavel/node/blob/buckettest"
)

// runMarket runs a node and returns the environment of commands that call it.
func runMarket(t *testing.T) (environ []string, stop func()) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.json")
	manage, stop := runNode(t, "serve", "--data-dir="+filepath.Join(dir, "data"), "--keys-file="+file)
	return []string{"GAVEL_MANAGE=" + manage, "GAVEL_MANAGE_KEY=" + keysIn(t, file).ManagementKey}, stop
}

// identity makes a key of age and returns the public key and a file with the secret one.
func identity(t *testing.T) (public, file string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(file, []byte("# public key: "+id.Recipient().String()+"\n"+id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), file
}

// namesIn returns the names of what is in a directory.
func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		names = append(names, f.Name())
	}
	return names
}

// succeeds runs a command that must succeed and print something.
func succeeds(t *testing.T, environ []string, want string, args ...string) {
	t.Helper()
	if r := gavel(environ, args...); r.code != exitSuccess || !strings.Contains(r.out, want) {
		t.Errorf("%q: code %d, want success and %q in %s%s", args, r.code, want, r.out, r.err)
	}
}

// fails runs a command that must fail with a code and an error.
func fails(t *testing.T, environ []string, code int, want string, args ...string) {
	t.Helper()
	if r := gavel(environ, args...); r.code != code || !strings.Contains(r.err, want) {
		t.Errorf("%q: code %d, want %d and %q in %s%s", args, r.code, code, want, r.out, r.err)
	}
}

// A scheduled backup of a running node is verified and named by its time; an old one is deleted only after that.
func TestScheduledBackup(t *testing.T) {
	environ, _ := runMarket(t)
	dir := t.TempDir()
	const old = "gavel-20200101T000000Z.bak"
	if err := os.WriteFile(filepath.Join(dir, old), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, []string{environ[0], "GAVEL_MANAGE_KEY=gavel_mgt_wrong"}, exitFailed, "401", "backup", "--dir="+dir, "--keep=1")
	if left := namesIn(t, dir); !slices.Equal(left, []string{old}) {
		t.Errorf("a backup that failed leaves %q", left)
	}
	succeeds(t, environ, old+": deleted", "backup", "--dir="+dir, "--keep=1")
	if left := namesIn(t, dir); len(left) != 1 || left[0] < "gavel-2026" || !strings.HasSuffix(left[0], "Z.bak") {
		t.Errorf("the directory holds %q", left)
	}
}

// An encrypted backup is restored with the secret key of any of its recipients, and with nothing else. What is refused
// leaves no file behind.
func TestEncryptedBackup(t *testing.T) {
	environ, stop := runMarket(t)
	dir := t.TempDir()
	first, firstFile := identity(t)
	second, secondFile := identity(t)
	_, otherFile := identity(t)
	list := filepath.Join(t.TempDir(), "recipients")
	for _, file := range []struct{ name, text string }{{list, "# the safe\n" + second + "\n"}, {filepath.Join(dir, "gavel-20200101T000000Z.bak"), ""}} {
		if err := os.WriteFile(file.name, []byte(file.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain := filepath.Join(dir, "plain")
	succeeds(t, environ, "verified", "backup", "--out="+plain)
	succeeds(t, environ, "encrypted for 2 recipients, verified", "backup", "--dir="+dir, "--keep=1", "--encrypt-to="+first, "--recipients-file="+list)
	stop()
	names := namesIn(t, dir)
	if len(names) != 2 || !strings.HasSuffix(names[0], "Z.bak.age") {
		t.Fatalf("the directory holds %q", names)
	}
	file := filepath.Join(dir, names[0])
	stored, err := os.ReadFile(file)
	if err != nil || bytes.Contains(stored, []byte("GVBK")) || bytes.Contains(stored, []byte(`"taken_at"`)) {
		t.Fatalf("the file holds parts of the backup in plain text, %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode: %v, %v", info.Mode(), err)
	}

	data := filepath.Join(dir, "data")
	restore := func(in string, more ...string) []string {
		return append([]string{"restore", "--data-dir=" + data, "--in=" + in}, more...)
	}
	fails(t, nil, exitUsage, "is encrypted; --identity", restore(file)...)
	fails(t, nil, exitUsage, "is not encrypted", restore(plain, "--identity="+firstFile)...)
	fails(t, nil, exitUsage, "no such file", restore(file, "--identity="+filepath.Join(dir, "none"))...)
	fails(t, nil, exitUsage, "not the secret X25519 key", restore(file, "--identity="+list)...)
	fails(t, nil, exitFailed, "none of the secret keys", restore(file, "--identity="+otherFile)...)
	damaged := filepath.Join(dir, "damaged")
	for at := 0; at < len(stored); at += 1 + len(stored)/12 {
		changed := bytes.Clone(stored)
		changed[at] ^= 1
		for _, content := range [][]byte{changed, stored[:at]} {
			if err := os.WriteFile(damaged, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := gavel(nil, restore(damaged, "--identity="+firstFile)...); r.code == exitSuccess || r.err == "" {
				t.Errorf("damaged at byte %d: code %d: %s%s", at, r.code, r.out, r.err)
			}
		}
	}
	if err := os.Remove(damaged); err != nil {
		t.Fatal(err)
	}
	succeeds(t, nil, "checked and deleted", restore(file, "--identity="+firstFile, "--dry-run")...)
	if left := namesIn(t, dir); !slices.Equal(left, names) {
		t.Errorf("left behind: %q, before %q", left, names)
	}
	succeeds(t, nil, "every balance matches the journal", restore(file, "--identity="+secondFile)...)
}

// What a node sends is verified before it counts as a backup, encrypted or not: a changed or missing byte stores nothing
// and deletes nothing.
func TestADamagedTransferIsNoBackup(t *testing.T) {
	environ, stop := runMarket(t)
	file := filepath.Join(t.TempDir(), "good")
	succeeds(t, environ, "verified", "backup", "--out="+file)
	stop()
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var sent []byte
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(sent) }))
	defer node.Close()
	dir := t.TempDir()
	const old = "gavel-20200101T000000Z.bak"
	if err := os.WriteFile(filepath.Join(dir, old), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	recipient, _ := identity(t)
	changed := bytes.Clone(good)
	changed[len(changed)/2] ^= 1
	for name, content := range map[string][]byte{
		"a changed byte": changed, "a missing byte": good[:len(good)-1], "one byte more": append(bytes.Clone(good), 0), "nothing": nil,
	} {
		for _, more := range []string{"--keep=1", "--encrypt-to=" + recipient} {
			sent = content
			args := []string{"backup", "--manage=" + node.URL, "--key=k", "--dir=" + dir, "--keep=1", more}
			if r := gavel(nil, args...); r.code != exitFailed || !strings.Contains(r.err, "is damaged or none") {
				t.Errorf("%s, %s: code %d: %s%s", name, more, r.code, r.out, r.err)
			}
			if left := namesIn(t, dir); !slices.Equal(left, []string{old}) {
				t.Fatalf("%s, %s: the directory holds %q", name, more, left)
			}
		}
	}
	sent = good
	succeeds(t, nil, old+": deleted", "backup", "--manage="+node.URL, "--key=k", "--dir="+dir, "--keep=1")
}

func TestBackupRefuses(t *testing.T) {
	environ := []string{"GAVEL_MANAGE=127.0.0.1:1", "GAVEL_MANAGE_KEY=k"}
	dir := t.TempDir()
	_, file := identity(t)
	secret, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ = bytes.Cut(secret, []byte("\n")) // The first line is the public key.
	r := gavel(environ, "backup", "--dir="+dir, "--encrypt-to="+string(bytes.TrimSpace(secret)))
	if r.code != exitUsage || !strings.Contains(r.err, "is a secret key") || strings.Contains(r.err, string(secret[:30])) {
		t.Errorf("a secret key: code %d: %s", r.code, r.err)
	}
	fails(t, environ, exitUsage, "recipient 1", "backup", "--dir="+dir, "--encrypt-to=nobody")
	fails(t, environ, exitUsage, "no such file", "backup", "--dir="+dir, "--recipients-file="+filepath.Join(dir, "none"))
	fails(t, environ, exitUsage, "needs --dir", "backup", "--out="+filepath.Join(dir, "b"), "--keep=2")
	fails(t, environ, exitUsage, "GAVEL_BLOB_SECRET_KEY", "backup", "--dir=s3://safe")
	blob := append([]string{"GAVEL_BLOB_ENDPOINT=127.0.0.1:1", "GAVEL_BLOB_ACCESS_KEY=a", "GAVEL_BLOB_SECRET_KEY=s"}, environ...)
	fails(t, blob, exitUsage, "s3://BUCKET", "backup", "--dir=s3://")
	fails(t, blob, exitUsage, "names no object", "backup", "--out=s3://safe/shop/")
	fails(t, append(blob, "GAVEL_GROUPS=many"), exitUsage, "GAVEL_GROUPS", "backup", "--dir=s3://safe")
	if left := namesIn(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A backup in a bucket is verified before an older one is deleted, and is restored from there.
func TestBackupInABucket(t *testing.T) {
	environ, stop := runMarket(t)
	service := buckettest.New(t, "safe")
	const old, kept = "shop/gavel-20200101T000000Z.bak", "shop/before-the-sale.bak"
	service.Set(old, nil)
	service.Set(kept, nil)
	settings := []string{
		"GAVEL_BLOB_ENDPOINT=" + service.Endpoint(), "GAVEL_BLOB_INSECURE=true",
		"GAVEL_BLOB_ACCESS_KEY=" + buckettest.AccessKey, "GAVEL_BLOB_SECRET_KEY=" + buckettest.SecretKey,
	}
	environ = append(environ, settings...)
	recipient, file := identity(t)
	backup := []string{"backup", "--dir=s3://safe/shop", "--keep=1", "--encrypt-to=" + recipient}

	for name, refuse := range map[string]func(*http.Request) bool{
		"a part":          func(r *http.Request) bool { return r.URL.Query().Has("partNumber") },
		"reading it back": func(r *http.Request) bool { return r.Method == http.MethodGet },
	} {
		service.Refuse(refuse)
		fails(t, environ, exitFailed, "s3://safe/shop/gavel-2", backup...)
		if left := service.Objects(); len(left) != 2 {
			t.Errorf("after a failure of %s: %q", name, slices.Sorted(maps.Keys(left)))
		}
	}
	service.Refuse(func(r *http.Request) bool { return r.URL.Query().Has("list-type") })
	fails(t, environ, exitFailed, "is verified; no old one was deleted", backup...)
	service.Refuse(nil)
	succeeds(t, environ, "s3://safe/"+old+": deleted", append(backup, "--force")...) // It may be the same second.
	stop()
	left := slices.Sorted(maps.Keys(service.Objects()))
	left = slices.DeleteFunc(left, func(key string) bool { return key == kept })
	if len(left) != 1 || !strings.HasSuffix(left[0], "Z.bak.age") {
		t.Fatalf("the bucket holds %q", left)
	}
	address := "s3://safe/" + left[0]
	fails(t, environ, exitUsage, "exists already; --force", "backup", "--out="+address)
	data := filepath.Join(t.TempDir(), "data")
	fails(t, settings, exitFailed, "there is no such backup", "restore", "--data-dir="+data, "--in=s3://safe/none.bak")
	fails(t, nil, exitUsage, "GAVEL_BLOB_ENDPOINT", "restore", "--data-dir="+data, "--in="+address)
	fails(t, settings, exitUsage, "is encrypted", "restore", "--data-dir="+data, "--in="+address)
	succeeds(t, settings, "checked and deleted", "restore", "--data-dir="+data, "--in="+address, "--identity="+file, "--dry-run")
	succeeds(t, settings, "every balance matches the journal", "restore", "--data-dir="+data, "--in="+address, "--identity="+file)
}
