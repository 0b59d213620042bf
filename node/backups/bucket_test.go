package backups_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/backups"
	"github.com/gavel-ads/gavel/node/blob/buckettest"
)

// openBucket opens an address of a service.
func openBucket(t *testing.T, b *buckettest.Bucket, address string) *backups.Bucket {
	t.Helper()
	bucket, err := backups.OpenBucket(address, backups.Service{
		Endpoint: b.Endpoint(), Region: "eu-test-1", AccessKey: buckettest.AccessKey, SecretKey: buckettest.SecretKey, Insecure: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

// content is a function for Put that writes a text.
func content(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// A backup in a bucket is what was written, below the prefix; other objects are neither listed nor changed.
func TestBackupsInABucket(t *testing.T) {
	service := buckettest.New(t, "safe")
	service.Set("other/gavel-20200101T000000Z.bak", []byte("another cluster's"))
	service.Set("shop/deeper/gavel-20200101T000000Z.bak", []byte("another cluster's"))
	for _, address := range []string{"s3://safe/shop", "s3://safe/shop/", "s3://safe//shop//"} {
		b := openBucket(t, service, address)
		if got := b.Path("x.bak"); got != "s3://safe/shop/x.bak" {
			t.Errorf("%s: the path is %s", address, got)
		}
		if found, err := b.Exists(t.Context(), "x.bak"); found || err != nil {
			t.Errorf("before: %t, %v", found, err)
		}
		if _, _, err := b.Open(t.Context(), "x.bak"); !errors.Is(err, backups.ErrNotFound) || !strings.Contains(err.Error(), "s3://safe/shop/x.bak") {
			t.Errorf("before: %v", err)
		}
		if err := b.Put(t.Context(), "x.bak", content("the backup")); err != nil {
			t.Fatal(err)
		}
		f, size, err := b.Open(t.Context(), "x.bak")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || string(got) != "the backup" || size != int64(len(got)) {
			t.Errorf("%q of %d bytes, %v", got, size, err)
		}
		if names, err := b.Names(t.Context()); err != nil || !slices.Equal(names, []string{"x.bak"}) {
			t.Errorf("names: %q, %v", names, err)
		}
		for range 2 { // The second time it is gone already.
			if err := b.Remove(t.Context(), "x.bak"); err != nil {
				t.Error(err)
			}
		}
	}
	if left := service.Objects(); len(left) != 2 {
		t.Errorf("%d objects are left, want the two of others", len(left))
	}
	if b := openBucket(t, service, "s3://safe"); b.Path("x") != "s3://safe/x" {
		t.Errorf("without a prefix the path is %s", b.Path("x"))
	}
	for _, bad := range []string{"s3://", "s3:///x", "safe/shop", "/safe"} {
		if _, err := backups.OpenBucket(bad, backups.Service{Endpoint: "localhost"}); err == nil || !strings.Contains(err.Error(), "s3://BUCKET") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A backup whose source fails, at whatever byte and with whatever error, is not stored, and its upload is aborted.
func TestAFailedSourceStoresNothing(t *testing.T) {
	service := buckettest.New(t, "safe")
	b := openBucket(t, service, "s3://safe/shop")
	part := make([]byte, 33<<20) // More than a part of an upload.
	for _, failure := range []error{errors.New("the node went away"), io.ErrUnexpectedEOF, io.EOF, context.Canceled} {
		for _, before := range [][]byte{nil, part[:100], part} {
			err := b.Put(t.Context(), "x.bak", func(w io.Writer) error {
				if _, err := w.Write(before); err != nil {
					return err
				}
				return failure
			})
			if !errors.Is(err, failure) {
				t.Errorf("after %d bytes: %v, want %v", len(before), err, failure)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := b.Put(ctx, "x.bak", func(w io.Writer) error {
		_, err := w.Write(part) // The first part is stored.
		cancel()
		return errors.Join(err, ctx.Err())
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled upload: %v", err)
	}
	if left := service.Objects(); len(left) > 0 || service.Uploads() > 0 {
		t.Errorf("%d objects and %d uploads are left", len(left), service.Uploads())
	}
}

// What the service does not store, or returns otherwise than it was written, is no backup. The one before stays.
func TestAFailedServiceStoresNothing(t *testing.T) {
	is := func(method string, words ...string) func(*http.Request) bool {
		return func(r *http.Request) bool {
			return r.Method == method && !slices.ContainsFunc(words, func(word string) bool { return !r.URL.Query().Has(word) })
		}
	}
	for name, c := range map[string]struct {
		refuse func(*http.Request) bool
		want   string
	}{
		"the begin of the upload": {is(http.MethodPost, "uploads"), "s3://safe/shop/new.bak: "},
		"a part":                  {is(http.MethodPut, "partNumber"), "s3://safe/shop/new.bak: "},
		"the end of the upload":   {is(http.MethodPost, "uploadId"), "s3://safe/shop/new.bak: "},
		"reading it back":         {is(http.MethodGet), "it was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			service := buckettest.New(t, "safe")
			service.Set("shop/old.bak", []byte("the one before"))
			b := openBucket(t, service, "s3://safe/shop")
			service.Refuse(c.refuse)
			err := b.Put(t.Context(), "new.bak", content(strings.Repeat("the backup ", 10_000)))
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, backups.ErrNotAsWritten) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if left := service.Objects(); len(left) != 1 || left["shop/old.bak"] == nil {
				t.Errorf("%d objects are left", len(left))
			}
		})
	}
	t.Run("another content", func(t *testing.T) {
		for _, changed := range []string{"the Backup", "the backu", "the backup "} {
			service := buckettest.New(t, "safe")
			b := openBucket(t, service, "s3://safe/shop")
			service.Refuse(func(r *http.Request) bool {
				if r.Method == http.MethodHead || r.Method == http.MethodGet {
					service.Set("shop/new.bak", []byte(changed))
				}
				return false
			})
			if err := b.Put(t.Context(), "new.bak", content("the backup")); !errors.Is(err, backups.ErrNotAsWritten) {
				t.Errorf("%q came back: %v", changed, err)
			}
			if left := service.Objects(); len(left) > 0 {
				t.Errorf("%q came back: %d objects are left", changed, len(left))
			}
		}
	})
	t.Run("no bucket", func(t *testing.T) {
		b := openBucket(t, buckettest.New(t, "another"), "s3://safe/shop")
		if err := b.Put(t.Context(), "x.bak", content("x")); err == nil || errors.Is(err, backups.ErrNotFound) {
			t.Errorf("%v, want that the bucket is missing", err)
		}
	})
}
