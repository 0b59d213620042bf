package export_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/node/blob"
)

// memory is a target in memory that can fail.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
	// calls counts reads and writes. Call number failAt fails: a write before it stores anything, or after it with late.
	calls, failAt int
	late          bool
}

var errTarget = errors.New("the target does not answer")

func newMemory() *memory { return &memory{files: map[string][]byte{}} }

// fails counts a call, and reports whether it is to fail.
func (m *memory) fails() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	return m.calls == m.failAt
}

// PutPath does not lock while it reads, because files are written at the same time.
func (m *memory) PutPath(_ context.Context, path string, r io.Reader) error {
	fails := m.fails()
	if fails && !m.late {
		return errTarget
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[path] = content
	if fails {
		return errTarget
	}
	return nil
}

func (m *memory) ReadPath(_ context.Context, path string, limit int64) ([]byte, error) {
	if m.fails() {
		return nil, errTarget
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	content, found := m.files[path]
	switch {
	case !found:
		return nil, blob.ErrNotFound
	case int64(len(content)) > limit:
		return nil, errors.New("too large")
	}
	return content, nil
}

// same compares all files with those of another target, byte by byte.
func (m *memory) same(t *testing.T, want *memory) {
	t.Helper()
	if got, want := slices.Sorted(maps.Keys(m.files)), slices.Sorted(maps.Keys(want.files)); !slices.Equal(got, want) {
		t.Errorf("the target has the files\n%q\nnot\n%q", got, want)
	}
	for path, content := range want.files {
		if !bytes.Equal(m.files[path], content) {
			t.Errorf("%s has another content", path)
		}
	}
}
