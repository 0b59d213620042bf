package blob_test

import (
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/blob/buckettest"
)

// openS3 opens a bucket of a service.
func openS3(t *testing.T, b *buckettest.Bucket, name, prefix string) *blob.S3 {
	t.Helper()
	s, err := blob.OpenS3(blob.S3Config{
		Endpoint: b.Endpoint(), Region: "eu-test-1", Bucket: name, Prefix: prefix,
		AccessKey: buckettest.AccessKey, SecretKey: buckettest.SecretKey, Insecure: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestS3Refusals: a missing bucket is detected at the start, and nothing goes into it.
func TestS3Refusals(t *testing.T) {
	s := openS3(t, buckettest.New(t, "files"), "another", "")
	if err := s.Check(t.Context()); err == nil {
		t.Error("a bucket that does not exist passes")
	}
	if err := s.Put(t.Context(), blob.Name("a", 1), strings.NewReader("x")); err == nil {
		t.Error("a file went into a bucket that does not exist")
	}
}
