package blob_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/blob/buckettest"
)

// TestPaths checks a directory and a bucket against the same contract.
func TestPaths(t *testing.T) {
	t.Run("local", func(t *testing.T) {
		dir := t.TempDir()
		paths(t, local(t, dir))
		if b, err := os.ReadFile(filepath.Join(dir, "a", "hour=01", "x.json")); err != nil || string(b) != "second" {
			t.Errorf("a reader of the directory finds %q, %v", b, err)
		}
	})
	t.Run("s3", func(t *testing.T) {
		bucket := buckettest.New(t, "files")
		paths(t, openS3(t, bucket, "files", "exports/"))
		if _, found := bucket.Objects()["exports/a/hour=01/x.json"]; !found {
			t.Error("the bucket lacks the object")
		}
	})
}

func paths(t *testing.T, s blob.Paths) {
	t.Helper()
	ctx, name := t.Context(), "a/hour=01/x.json"
	if _, err := s.ReadPath(ctx, name, 10); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("nothing is there: %v", err)
	}
	for _, content := range []string{"first", "second"} {
		if err := s.PutPath(ctx, name, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		if b, err := s.ReadPath(ctx, name, 6); err != nil || string(b) != content {
			t.Errorf("%q, %v; want %q", b, err, content)
		}
	}
	broken := errors.New("broken")
	half := bytes.NewReader(make([]byte, 100))
	if err := s.PutPath(ctx, name, iotest.TimeoutReader(iotest.OneByteReader(half))); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := s.PutPath(ctx, "a/new", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a reader that fails at once: %v", err)
	}
	if b, err := s.ReadPath(ctx, name, 6); err != nil || string(b) != "second" {
		t.Errorf("a failed Put left %q, %v", b, err)
	}
	if _, err := s.ReadPath(ctx, "a/new", 6); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a failed Put left a file: %v", err)
	}
	if _, err := s.ReadPath(ctx, name, 5); err == nil {
		t.Error("a file beyond the limit was read")
	}
	for _, bad := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", "a/.tmp", "a\\b", "A", "a b", strings.Repeat("a", 513)} {
		if err := s.PutPath(ctx, bad, strings.NewReader("x")); err == nil {
			t.Errorf("%q was accepted", bad)
		}
		if _, err := s.ReadPath(ctx, bad, 5); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("%q was read: %v", bad, err)
		}
	}
}

// TestAStartTakesNothingFromAnotherNode: a node that opens a directory that several have mounted leaves alone what another one is
// writing, and removes what was left an hour ago.
func TestAStartTakesNothingFromAnotherNode(t *testing.T) {
	dir := t.TempDir()
	mounted := func() *blob.Local {
		l, err := blob.OpenMounted(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	left, ago := filepath.Join(dir, ".tmp-abcdef"), time.Now().Add(-time.Hour)
	if err := errors.Join(os.WriteFile(left, []byte("half"), 0o600), os.Chtimes(left, ago, ago)); err != nil {
		t.Fatal(err)
	}
	start := reading(func() { mounted() })
	if err := mounted().PutPath(t.Context(), "a/b.json", io.MultiReader(strings.NewReader("whole"), start)); err != nil {
		t.Error(err)
	}
	if b, err := mounted().ReadPath(t.Context(), "a/b.json", 10); err != nil || string(b) != "whole" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half file is still there: %v", err)
	}
}

// reading is a reader without content that calls a function when it is read.
type reading func()

func (r reading) Read([]byte) (int, error) {
	r()
	return 0, io.EOF
}
