package cli

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// backupForm is the form of the names of backups on a schedule, so that their order is that of their times.
const backupForm = "gavel-20060102T150405Z.bak"

// backupName returns the name of a backup that begins at a time.
func backupName(at time.Time) string { return at.UTC().Format(backupForm) }

// deleteOldBackups deletes all but the newest keep backups of a directory and returns their names. Files with other
// names are left alone: a backup that somebody renamed is kept for ever.
func deleteOldBackups(dir string, keep int) (deleted []string, err error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var backups []string
	for _, f := range found {
		if at, err := time.Parse(backupForm, f.Name()); err == nil && f.Type().IsRegular() && backupName(at) == f.Name() {
			backups = append(backups, f.Name())
		}
	}
	slices.Sort(backups)
	for _, name := range backups[:max(0, len(backups)-keep)] {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return deleted, err
		}
		deleted = append(deleted, name)
	}
	return deleted, nil
}
