package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/blob/buckettest"
)

func local(t *testing.T, dir string) *blob.Local {
	t.Helper()
	l, err := blob.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestStores checks every store against the same contract.
func TestStores(t *testing.T) {
	t.Run("local", func(t *testing.T) { conform(t, local(t, t.TempDir())) })
	t.Run("s3", func(t *testing.T) {
		bucket := buckettest.New(t, "files")
		conform(t, openS3(t, bucket, "files", "gavel/"))
		for key := range bucket.Objects() {
			if !strings.HasPrefix(key, "gavel/") {
				t.Errorf("an object outside of the prefix: %s", key)
			}
		}
	})
}

func conform(t *testing.T, s blob.Store) {
	t.Helper()
	ctx := t.Context()
	if err := s.Check(ctx); err != nil {
		t.Fatalf("check: %v", err)
	}
	small, large := blob.Name("a", 1), blob.Name("a", 1)
	big := bytes.Repeat([]byte("0123456789abcde\n"), (11<<20)/16)
	put(t, s, small, []byte("hello"))
	put(t, s, large, big)
	put(t, s, blob.Name("a", 2), nil)
	same(t, s, small, []byte("hello"))
	same(t, s, large, big)

	f, err := s.Open(ctx, large)
	if err != nil {
		t.Fatal(err)
	}
	if f.Size() != int64(len(big)) {
		t.Errorf("a file of %d bytes says it has %d", len(big), f.Size())
	}
	if _, err := f.Seek(-16, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	if end, err := io.ReadAll(f); err != nil || string(end) != "0123456789abcde\n" {
		t.Errorf("the end of a file is %q, %v", end, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}

	put(t, s, small, []byte("again")) // An interrupted step is repeated.
	same(t, s, small, []byte("again"))

	broken := errors.New("the client went away")
	for _, before := range []int{0, 100, 6 << 20} { // In the first part of an S3 upload, and in the second.
		name := blob.Name("a", 1)
		r := io.MultiReader(bytes.NewReader(big[:before]), failing{broken})
		if err := s.Put(ctx, name, r); !errors.Is(err, broken) {
			t.Errorf("a reader that fails after %d bytes: %v", before, err)
		}
		if _, err := s.Open(ctx, name); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("half of a file can be opened: %v", err)
		}
	}

	if names := walk(t, s); len(names) != 3 || !slices.Contains(names, small) || !slices.Contains(names, large) {
		t.Errorf("walk: %v", names)
	}
	for range 2 {
		if err := s.Remove(ctx, small); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if _, err := s.Open(ctx, small); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("a removed file opens: %v", err)
	}
	for _, bad := range []string{"", "a", "..", "../etc/passwd", "a/b-c", "A0001-x", "a\x00b", strings.Repeat("a", 101), ".tmp-abc", "ä0001-x"} {
		if err := s.Put(ctx, bad, strings.NewReader("x")); err == nil {
			t.Errorf("%q is taken for a name", bad)
		}
		if _, err := s.Open(ctx, bad); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("open %q: %v", bad, err)
		}
		if err := s.Remove(ctx, bad); err != nil {
			t.Errorf("remove %q: %v", bad, err)
		}
	}

	keep := walk(t, s)[0]
	used := func(name string) (bool, error) { return name == keep, nil }
	later := time.Now().Add(2 * time.Hour)
	if removed, err := blob.Sweep(ctx, s, time.Now(), time.Hour, used); removed != 0 || err != nil {
		t.Errorf("the sweep takes files whose records may still come: %d, %v", removed, err)
	}
	if removed, err := blob.Sweep(ctx, s, later, time.Hour, used); removed != 1 || err != nil {
		t.Errorf("the sweep took %d files, %v; want 1", removed, err)
	}
	if names := walk(t, s); !slices.Equal(names, []string{keep}) {
		t.Errorf("after the sweep: %v", names)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func put(t *testing.T, s blob.Store, name string, content []byte) {
	t.Helper()
	if err := s.Put(t.Context(), name, bytes.NewReader(content)); err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}

func same(t *testing.T, s blob.Store, name string, want []byte) {
	t.Helper()
	f, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes, %v; want %d", name, len(got), err, len(want))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func walk(t *testing.T, s blob.Store) (names []string) {
	t.Helper()
	if err := s.Walk(t.Context(), func(name string, at time.Time) error {
		if age := time.Since(at); age < -time.Minute || age > time.Minute {
			t.Errorf("%s was stored %v ago", name, age)
		}
		names = append(names, name)
		return nil
	}); err != nil {
		t.Fatalf("walk: %v", err)
	}
	slices.Sort(names)
	return names
}

// TestNames: a name contains its kind and its marketplace, and no two are equal.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		name := blob.Name("a", 0xbeef)
		kind, marketplace, ok := blob.Owner(name)
		if kind != "a" || marketplace != 0xbeef || !ok || seen[name] {
			t.Fatalf("%q: %q %x %v", name, kind, marketplace, ok)
		}
		seen[name] = true
	}
	for _, bad := range []string{"", "a", "a0001", "azzzz-x", "a00011-x", "0001-x"} {
		if _, _, ok := blob.Owner(bad); ok {
			t.Errorf("%q has an owner", bad)
		}
	}
}

// TestCrash: the next start removes what a crash has left, and files stay.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	first := local(t, dir)
	name := blob.Name("a", 1)
	put(t, first, name, []byte("kept"))
	left := filepath.Join(dir, ".tmp-abcdef")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, local(t, dir), name, []byte("kept"))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half file is still there: %v", err)
	}
}

// TestSymlink: a link in the directory does not lead out of it.
func TestSymlink(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := local(t, dir)
	name := blob.Name("a", 1)
	sub := filepath.Join(dir, name[len(name)-2:])
	if err := errors.Join(os.Mkdir(sub, 0o700), os.Symlink(outside, filepath.Join(sub, name))); err != nil {
		t.Fatal(err)
	}
	if f, err := l.Open(t.Context(), name); err == nil {
		_ = f.Close()
		t.Error("a link out of the directory was followed")
	}
}

// TestMemory: a file of 50 MiB costs less than 8 MiB of heap, in either store.
func TestMemory(t *testing.T) {
	bucket := buckettest.New(t, "files")
	bucket.Forget = true
	for name, s := range map[string]blob.Store{"local": local(t, t.TempDir()), "s3": openS3(t, bucket, "files", "")} {
		t.Run(name, func(t *testing.T) {
			meter := &meter{left: 50 << 20}
			runtime.GC()
			runtime.ReadMemStats(&meter.stats)
			before := meter.stats.HeapAlloc
			if err := s.Put(t.Context(), blob.Name("a", 1), meter); err != nil {
				t.Fatal(err)
			}
			if growth := int64(meter.most) - int64(before); growth > 8<<20 {
				t.Errorf("the heap grew by %d KiB", growth>>10)
			}
		})
	}
}

// meter returns zeros and measures the heap from time to time.
type meter struct {
	left, reads int
	most        uint64
	stats       runtime.MemStats
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left == 0 {
		return 0, io.EOF
	}
	if m.reads++; m.reads%100 == 0 {
		runtime.GC()
		runtime.ReadMemStats(&m.stats)
		m.most = max(m.most, m.stats.HeapAlloc)
	}
	n := min(len(p), m.left)
	m.left -= n
	return n, nil
}

// TestForms: a form is valid with its own signature, method, path and time, and with nothing else.
func TestForms(t *testing.T) {
	key := blob.KeyOf([32]byte{1}, "assets")
	now := time.UnixMilli(1_700_000_000_000)
	p := blob.Policy{
		Method: "POST", Path: "/uploads/assets/x", Marketplace: 1, Subject: "x", Object: "a0001-x", Type: "image/png",
		MaxBytes: 10, Expires: now.Add(blob.FormTTL).UnixMilli(), Nonce: "n",
	}
	policy, signature := key.Sign(p)
	if got, err := key.Verify(policy, signature, p.Method, p.Path, now); err != nil || got != p {
		t.Fatalf("%+v, %v", got, err)
	}
	last := now.Add(blob.FormTTL - time.Millisecond)
	if _, err := key.Verify(policy, signature, p.Method, p.Path, last); err != nil {
		t.Errorf("in the last millisecond: %v", err)
	}
	for name, try := range map[string]func() error{
		"late": func() error {
			_, err := key.Verify(policy, signature, p.Method, p.Path, now.Add(blob.FormTTL))
			return err
		},
		"other method": func() error { _, err := key.Verify(policy, signature, "PUT", p.Path, now); return err },
		"other path":   func() error { _, err := key.Verify(policy, signature, p.Method, p.Path+"y", now); return err },
		"other purpose": func() error {
			_, err := blob.KeyOf([32]byte{1}, "lists").Verify(policy, signature, p.Method, p.Path, now)
			return err
		},
		"other cluster": func() error {
			_, err := blob.KeyOf([32]byte{2}, "assets").Verify(policy, signature, p.Method, p.Path, now)
			return err
		},
		"no signature":     func() error { _, err := key.Verify(policy, "", p.Method, p.Path, now); return err },
		"signature of all": func() error { _, err := key.Verify("", signature, p.Method, p.Path, now); return err },
	} {
		if err := try(); !errors.Is(err, blob.ErrForged) && !errors.Is(err, blob.ErrExpired) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range policy { // Every character of both matters.
		if _, err := key.Verify(flip(policy, i), signature, p.Method, p.Path, now); !errors.Is(err, blob.ErrForged) {
			t.Errorf("letter %d of the policy does not count: %v", i, err)
		}
	}
	for i := range signature {
		if _, err := key.Verify(policy, flip(signature, i), p.Method, p.Path, now); !errors.Is(err, blob.ErrForged) {
			t.Errorf("letter %d of the signature does not count: %v", i, err)
		}
	}
}

func flip(text string, at int) string {
	b := []byte(text)
	if b[at] == 'a' {
		b[at] = 'b'
	} else {
		b[at] = 'a'
	}
	return string(b)
}

// TestAtOnce: with uploads, replacements and reads at the same moment no reader gets half a file.
func TestAtOnce(t *testing.T) {
	l := local(t, t.TempDir())
	name := blob.Name("a", 1)
	contents := map[byte][]byte{}
	for c := range byte(4) {
		contents[c] = bytes.Repeat([]byte{'a' + c}, 100_000)
	}
	put(t, l, name, contents[0])
	var all sync.WaitGroup
	failed := make(chan error, 100)
	for c := range maps.Keys(contents) {
		all.Go(func() {
			for range 10 {
				if err := l.Put(context.Background(), name, bytes.NewReader(contents[c])); err != nil {
					failed <- err
				}
				f, err := l.Open(context.Background(), name)
				if err != nil {
					failed <- err
					continue
				}
				got, err := io.ReadAll(f)
				if err != nil || !bytes.Equal(got, contents[got[0]-'a']) {
					failed <- fmt.Errorf("half a file: %d bytes, %w", len(got), err)
				}
				_ = f.Close()
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}

// TestAFailedPutLeavesNothing: nothing of an upload that failed is left, not even a temporary file.
func TestAFailedPutLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	l, err := blob.OpenLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	cut := errors.New("cut")
	if err := l.Put(t.Context(), blob.Name("a", 1), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(cut))); !errors.Is(err, cut) {
		t.Errorf("a failed upload is reported as %v", err)
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			t.Errorf("%s stays", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
