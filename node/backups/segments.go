package backups

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// PositionName is the name of the file that says where an archive ends.
const PositionName = "gavel-archive.json"

// PositionBytesMax bounds that file. BOUND: a group takes some 40 bytes.
const PositionBytesMax = 64 << 10

// segmentMargin is how much older than a backup a segment may seem, because of different clocks, and still have entries
// that follow the backup.
const segmentMargin = time.Hour

// Position says where an archive of the log ends.
type Position struct {
	Cluster string            `json:"cluster"` // 16 hex digits.
	Newest  string            `json:"newest"`  // Name of the newest segment.
	After   map[uint16]uint64 `json:"after"`   // The last entry of each group.
}

// ReadPosition decodes the file of a position.
func ReadPosition(text []byte) (p Position, err error) {
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("%s does not say where the archive ends: %w", PositionName, err)
	}
	if _, ok := segmentForm.timeOf(p.Newest); !ok || p.Cluster == "" || len(p.After) == 0 {
		return p, fmt.Errorf("%s does not say where the archive ends: it lacks a cluster, the newest segment, or groups", PositionName)
	}
	return p, nil
}

// NextSegment returns the name of a segment that is taken at a time: behind the newest name, also when the clock of this
// machine was set back, so that the order of the names is that of the entries.
func (p Position) NextSegment(at time.Time, encrypted bool) string {
	at = at.UTC().Truncate(time.Millisecond)
	if newest, ok := segmentForm.timeOf(p.Newest); ok && !at.After(newest) {
		at = newest.Add(time.Millisecond)
	}
	return segmentForm.name(at, encrypted)
}

// SegmentsAfter returns the names of the segments that may follow a backup of a time, in their order. REQUIRES: taken is
// the time in the backup, or in its name.
func SegmentsAfter(names []string, taken time.Time) []string {
	var after []string
	for _, name := range names {
		if at, ok := segmentForm.timeOf(name); ok && !at.Before(taken.Add(-segmentMargin)) {
			after = append(after, name)
		}
	}
	slices.Sort(after)
	return after
}

// OldSegments returns the names of the segments that no backup needs: those that are surely older than every one. Without
// a backup none is old.
func OldSegments(names []string) []string {
	var oldest time.Time
	for _, name := range names {
		if at, ok := backupForm.timeOf(name); ok && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	var old []string
	for _, name := range names {
		if at, ok := segmentForm.timeOf(name); ok && at.Before(oldest.Add(-segmentMargin)) {
			old = append(old, name)
		}
	}
	slices.Sort(old)
	return old
}
