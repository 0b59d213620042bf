package backups_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/backups"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// The names of segments are in the order in which they are taken, whatever the clock does.
func TestSegmentsAreInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var p backups.Position
	var names []string
	for range 1_000 {
		p.Newest = p.NextSegment(noon.Add(time.Duration(random.Int64N(int64(time.Second)))), random.IntN(2) == 0)
		names = append(names, p.Newest)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the names are not in the order of the segments")
	}
	if got := backups.SegmentsAfter(slices.Sorted(slices.Values(append(names, "gavel-20261127T120000Z.bak", "notes.log"))), noon); !slices.Equal(got, names) {
		t.Errorf("%d of %d segments are found", len(got), len(names))
	}
}

// What no backup needs is old: segments that are more than an hour older than every backup.
func TestOldSegments(t *testing.T) {
	old, needed := "gavel-20261127T105959.999Z.log", "gavel-20261127T110000.000Z.log.age"
	backup, later := "gavel-20261127T120000Z.bak", "gavel-20261128T120000Z.bak.age"
	for _, c := range []struct{ names, want []string }{
		{[]string{later, needed, backup, old}, []string{old}},
		{[]string{needed, later, old}, []string{old, needed}},
		{[]string{needed, old}, nil}, // Without a backup nobody knows.
		{[]string{backup, "gavel-20261127T105959Z.log", "gavel-2026.log", "gavel-archive.json"}, nil},
	} {
		if got := backups.OldSegments(c.names); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
	}
	if got := backups.SegmentsAfter([]string{later, needed, backup, old}, noon); !slices.Equal(got, []string{needed}) {
		t.Errorf("behind the backup of noon: %q", got)
	}
}

func TestReadPosition(t *testing.T) {
	got, err := backups.ReadPosition([]byte(`{"cluster":"c1","newest":"gavel-20261127T110000.000Z.log","after":{"0":7,"1":9}}`))
	want := backups.Position{Cluster: "c1", Newest: "gavel-20261127T110000.000Z.log", After: map[uint16]uint64{0: 7, 1: 9}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{
		"", "{}", `{"cluster":"c1","newest":"x","after":{"0":7}}`, `{"cluster":"c1","newest":"gavel-20261127T110000.000Z.log","after":{}}`,
		`{"newest":"gavel-20261127T110000.000Z.log","after":{"0":7}}`, `{"cluster":"c1","newest":"gavel-20261127T110000.000Z.log","after":{"x":7}}`,
	} {
		if p, err := backups.ReadPosition([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, p)
		}
	}
}
