package backups_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/backups"
)

// The oldest backups are deleted, by the times in their names, encrypted and plain ones alike; other files stay.
func TestOldBackups(t *testing.T) {
	at := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	var names []string
	for day := range 5 {
		names = append(names, backups.Name(at.AddDate(0, 0, day), day%2 == 1))
	}
	if names[0] != "gavel-20261123T080000Z.bak" || names[1] != "gavel-20261124T080000Z.bak.age" {
		t.Fatalf("the names are %q", names)
	}
	others := []string{
		"gavel-2026-11-01.bak", "gavel-20261101T080000Z.bak.partial", "gavel-20261301T080000Z.bak", "kept-20261101T080000Z.bak",
		"gavel-20261101T080000Z.age", "gavel-20261101T080000Z", "",
	}
	for keep, want := range map[int][]string{1: names[:4], 3: names[:2], 5: nil, 9: nil} {
		all := slices.Concat(others, names)
		slices.Reverse(all) // The order of a listing does not count.
		if old := backups.Old(all, names[4], keep); !slices.Equal(old, want) {
			t.Errorf("keep %d: %q are old, want %q", keep, old, want)
		}
	}
}

// The backup that was just verified is never deleted, whatever times the names of the others say.
func TestTheVerifiedBackupStays(t *testing.T) {
	at := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	verified, later := backups.Name(at, true), backups.Name(at.AddDate(1, 0, 0), false)
	if old := backups.Old([]string{verified, later}, verified, 1); !slices.Equal(old, []string{later}) {
		t.Errorf("keep 1: %q are old, want the other one", old)
	}
	if old := backups.Old([]string{verified, later}, verified, 2); len(old) > 0 {
		t.Errorf("keep 2: %q are old, want none", old)
	}
}
