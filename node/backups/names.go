// Package backups knows where backups, and the segments of the log that follow them, are stored and how: their names and
// which of them are old, their encryption with age, and buckets of S3 services. What they contain is the business of
// raftstore/backup.
package backups

import (
	"slices"
	"strings"
	"time"
)

// timeForm is the form of the names of backups on a schedule without their ending, so that their order is that of their
// times.
const timeForm = "gavel-20060102T150405Z"

// The endings of the names of backups on a schedule.
const (
	plainEnding     = ".bak"
	encryptedEnding = ".bak.age"
)

// Name returns the name of a backup that begins at a time.
func Name(at time.Time, encrypted bool) string {
	if encrypted {
		return at.UTC().Format(timeForm) + encryptedEnding
	}
	return at.UTC().Format(timeForm) + plainEnding
}

// backupTime returns the time in a name that Name made.
func backupTime(name string) (at time.Time, ok bool) {
	stem, found := strings.CutSuffix(name, encryptedEnding)
	if !found {
		stem, found = strings.CutSuffix(name, plainEnding)
	}
	at, err := time.Parse(timeForm, stem)
	return at, found && err == nil && at.Format(timeForm) == stem
}

// Old returns the names that are deleted so that keep backups stay: verified, and the newest of the others. The one
// that was just verified stays also when its time is not the newest, because the clock of this machine was set back.
// Names that Name did not make are left alone: a backup that somebody renamed is kept for ever. REQUIRES: keep is at
// least 1.
func Old(names []string, verified string, keep int) []string {
	var others []string
	for _, name := range names {
		if _, ok := backupTime(name); ok && name != verified {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return others[:max(0, len(others)-(keep-1))]
}
