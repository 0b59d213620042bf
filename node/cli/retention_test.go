package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The oldest backups are deleted, by the times in their names; other files stay.
func TestOldBackupsAreDeleted(t *testing.T) {
	at := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	var backups []string
	for day := range 5 {
		backups = append(backups, backupName(at.AddDate(0, 0, day)))
	}
	others := []string{"gavel-2026-11-01.bak", "gavel-20261101T080000Z.bak.partial", "gavel-20261301T080000Z.bak", "kept-20261101T080000Z.bak"}
	for keep, want := range map[int]int{1: 4, 3: 2, 5: 0, 9: 0} {
		dir := t.TempDir()
		for _, name := range slices.Concat(backups, others) {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		deleted, err := deleteOldBackups(dir, keep)
		if err != nil || !slices.Equal(deleted, backups[:want]) {
			t.Errorf("keep %d: deleted %q, %v", keep, deleted, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != len(backups)+len(others)-want {
			t.Errorf("keep %d: %d files are left, %v", keep, len(left), err)
		}
	}
}

// A scheduled backup of a running node is verified and named by its time; an old one is deleted only after that.
func TestScheduledBackup(t *testing.T) {
	dir, backups := t.TempDir(), t.TempDir()
	keys := filepath.Join(dir, "keys.json")
	manage, stop := runNode(t, "serve", "--data-dir="+filepath.Join(dir, "data"), "--keys-file="+keys)
	old := filepath.Join(backups, "gavel-20200101T000000Z.bak")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	key := text[strings.Index(string(text), "gavel_mgt_"):]
	backup := func(key string) int {
		p := &process{out: t.Output(), err: t.Output(), environ: []string{"GAVEL_MANAGE_KEY=" + key}}
		return p.run([]string{"backup", "--manage=" + manage, "--dir=" + backups, "--keep=1"})
	}
	if code := backup("gavel_mgt_wrong"); code == exitSuccess {
		t.Error("a backup with a wrong key succeeded")
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("a backup that failed deleted the old one: %v", err)
	}
	if code := backup(string(key[:strings.IndexByte(string(key), '"')])); code != exitSuccess {
		t.Errorf("the backup ended with code %d", code)
	}
	stop()
	left, err := os.ReadDir(backups)
	if err != nil || len(left) != 1 || left[0].Name() < "gavel-2026" {
		t.Errorf("the directory holds %v, %v", left, err)
	}
}
