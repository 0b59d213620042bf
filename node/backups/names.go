// Package backups knows where backups, and the segments of the log that follow them, are stored and how: their names and
// which of them are old, their encryption with age, and buckets of S3 services. What they contain is the business of
// raftstore/backup.
package backups

import (
	"slices"
	"strings"
	"time"
)

// form is how files are named by their times, so that the order of the names is that of the times: a layout of package time
// and an ending.
type form struct{ layout, ending string }

// The forms of the names of backups on a schedule, and of segments of the log.
var (
	backupForm  = form{"gavel-20060102T150405Z", ".bak"}
	segmentForm = form{"gavel-20060102T150405.000Z", ".log.zst"}
)

const encryptedEnding = ".age" // Behind the ending.

// name returns the name of a file of a time.
func (f form) name(at time.Time, encrypted bool) string {
	name := at.UTC().Format(f.layout) + f.ending
	if encrypted {
		name += encryptedEnding
	}
	return name
}

// timeOf returns the time in a name of this form.
func (f form) timeOf(name string) (at time.Time, ok bool) {
	stem, found := strings.CutSuffix(strings.TrimSuffix(name, encryptedEnding), f.ending)
	at, err := time.Parse(f.layout, stem)
	return at, found && err == nil && at.Format(f.layout) == stem
}

// Name returns the name of a backup that begins at a time.
func Name(at time.Time, encrypted bool) string { return backupForm.name(at, encrypted) }

// Old returns the names that are deleted so that keep backups stay: verified, and the newest of the others. The one
// that was just verified stays also when its time is not the newest, because the clock of this machine was set back.
// Names that Name did not make are left alone: a backup that somebody renamed is kept for ever. REQUIRES: keep is at
// least 1.
func Old(names []string, verified string, keep int) []string {
	var others []string
	for _, name := range names {
		if _, ok := backupForm.timeOf(name); ok && name != verified {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return others[:max(0, len(others)-(keep-1))]
}
