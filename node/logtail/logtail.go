// Package logtail keeps the newest records of a process's log in memory, so that an admin reads them in the console without access
// to the machine. It keeps what the log got and nothing else: a level that is not logged is not kept either.
package logtail

import (
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of a Tail: 1,000 records of 2 KiB are 2 MB.
const (
	RecordsMax     = 1_000   // BOUND: records; a newer one replaces the oldest.
	recordBytesMax = 2 << 10 // BOUND: bytes of names and values of a record; what is beyond is cut off.
	attributeMax   = 512     // BOUND: bytes of one value, so that a long first value leaves space for the others.
)

// Record is a record of the log.
type Record struct {
	// Seq orders records. It grows by one with each record, and begins at the time of the start in microseconds, so that the numbers of
	// a process are above those of the one before.
	Seq        int64
	At         time.Time
	Level      slog.Level
	Message    string
	Attributes []Attribute
}

// Attribute is an attribute of a record as text. The names of groups stand before its name, each with a point.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Tail keeps the newest RecordsMax records. It is safe for concurrent use.
type Tail struct {
	mu    sync.Mutex
	ring  []Record // The record with the number n is at n modulo RecordsMax, once the ring is full.
	first int64    // The number of the first record.
	next  int64    // The number of the next record.
}

// New returns an empty tail of a process that started at a time.
func New(started time.Time) *Tail {
	first := started.UnixMicro()
	return &Tail{first: first, next: first, ring: make([]Record, 0, RecordsMax)}
}

func (t *Tail) add(r Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Seq = t.next
	t.next++
	if len(t.ring) < RecordsMax {
		t.ring = append(t.ring, r)
		return
	}
	t.ring[(r.Seq-t.first)%RecordsMax] = r
}

// Filter selects records. Text has to be part of the message, or of the name or value of an attribute, in any case of letters.
type Filter struct {
	Level slog.Level // And those above it.
	Text  string
}

// Since returns the records after a number that pass the filter, oldest first, the number of the newest record of all, and how many
// records after the number were replaced before they could be read. A number that no record of this process has counts as none.
// OWNERSHIP: attributes are shared and never changed.
func (t *Tail) Since(after int64, f Filter) (all []Record, newest, missed int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	oldest := t.next - int64(len(t.ring))
	from := oldest
	if after >= t.first && after < t.next {
		from = max(oldest, after+1)
		missed = from - after - 1
	}
	text := strings.ToLower(f.Text)
	for seq := from; seq < t.next; seq++ {
		if r := &t.ring[(seq-t.first)%RecordsMax]; r.Level >= f.Level && r.contains(text) {
			all = append(all, *r)
		}
	}
	return all, t.next - 1, missed
}

// contains reports whether a text in lower case is part of the record.
func (r *Record) contains(text string) bool {
	if strings.Contains(strings.ToLower(r.Message), text) {
		return true
	}
	for _, a := range r.Attributes {
		if strings.Contains(strings.ToLower(a.Name), text) || strings.Contains(strings.ToLower(a.Value), text) {
			return true
		}
	}
	return false
}

// cut returns the beginning of a text that has at most so many bytes, without a part of a character at its end.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
