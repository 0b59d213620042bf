package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Service says where an S3 service is and who asks it.
type Service struct {
	Endpoint  string // HOST or HOST:PORT.
	Region    string
	AccessKey string
	SecretKey string
	Insecure  bool // Plain HTTP, for a service on the same machine.
}

// bucketScheme begins the address of a bucket.
const bucketScheme = "s3://"

// partSize is the size in bytes of the parts of an upload, and the memory that it takes. BOUND: S3 takes 10,000 parts,
// so a backup has at most 320 GB.
const partSize = 32 << 20

// removeTimeout bounds the deletion of a backup that is not as it was written.
const removeTimeout = time.Minute

// ErrNotFound is returned by Open for a name that no backup has.
var ErrNotFound = errors.New("there is no such backup")

// errUploadEnded is what a writer gets that still writes when its upload has ended.
var errUploadEnded = errors.New("the upload has ended")

// IsBucket reports whether a place for backups is a bucket, and no directory.
func IsBucket(place string) bool { return strings.HasPrefix(place, bucketScheme) }

// Bucket is the part of a bucket whose names begin with a prefix. It is safe for concurrent use.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string // Empty, or with a slash at its end.
}

// OpenBucket prepares a client for an address such as s3://bucket or s3://bucket/prefix. Nothing is sent before its
// first use.
func OpenBucket(address string, s Service) (*Bucket, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(address, bucketScheme), "/")
	if !IsBucket(address) || name == "" {
		return nil, fmt.Errorf("%q is not s3://BUCKET or s3://BUCKET/PREFIX", address)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	client, err := minio.New(s.Endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""), Secure: !s.Insecure, Region: s.Region,
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	return &Bucket{client, name, prefix}, nil
}

// Path returns the address of a backup.
func (b *Bucket) Path(name string) string { return bucketScheme + b.bucket + "/" + b.prefix + name }

// Put stores what write writes and verifies it: the service must return the same bytes again. Nothing is stored when
// write returns an error, which Put returns, or when the upload fails; a backup that is not as it was written is
// deleted again. A process that ends in the middle leaves no backup, but parts of an upload, which a rule of the bucket
// should delete.
func (b *Bucket) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	in, out := io.Pipe()
	sum := NewSum()
	written := make(chan error, 1)
	go func() {
		// The client takes io.EOF and io.ErrUnexpectedEOF for the end of what it uploads, and no joined error.
		err := errors.Join(write(io.MultiWriter(out, sum)))
		_ = out.CloseWithError(err) // It always succeeds; nil is the end.
		written <- err
	}()
	_, uploaded := b.client.PutObject(ctx, b.bucket, b.prefix+name, in, -1, minio.PutObjectOptions{
		PartSize: partSize, NumThreads: 1, ContentType: "application/octet-stream",
	})
	_ = in.CloseWithError(errUploadEnded) // It always succeeds, and releases a writer whose upload failed.
	err := <-written
	if uploaded != nil && !errors.Is(uploaded, err) {
		return b.fail(name, uploaded)
	}
	if err != nil {
		return err
	}
	if err = b.verify(ctx, name, sum); err == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	if left := b.Remove(bounded, name); left != nil {
		return fmt.Errorf("%w; it could not be deleted, so delete it: %w", err, left)
	}
	return fmt.Errorf("%w; it was deleted", err)
}

// verify reads a stored backup and compares it with what was written.
func (b *Bucket) verify(ctx context.Context, name string, sum *Sum) error {
	f, _, err := b.Open(ctx, name)
	if err != nil {
		return err
	}
	if err := errors.Join(sum.Check(f), f.Close()); err != nil {
		return b.fail(name, err)
	}
	return nil
}

// Open returns a backup and its size in bytes, or ErrNotFound. Its bytes are downloaded when they are read.
func (b *Bucket) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	object, err := b.client.GetObject(ctx, b.bucket, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, b.fail(name, err)
	}
	info, err := object.Stat()
	if err != nil {
		return nil, 0, errors.Join(b.fail(name, err), object.Close())
	}
	return object, info.Size, nil
}

// Exists reports whether there is a backup of a name.
func (b *Bucket) Exists(ctx context.Context, name string) (bool, error) {
	_, err := b.client.StatObject(ctx, b.bucket, b.prefix+name, minio.StatObjectOptions{})
	if err != nil && isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, b.fail(name, err)
	}
	return true, nil
}

// Names lists the names of what is stored directly below the prefix.
func (b *Bucket) Names(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx) // It ends the client's goroutine after an error.
	defer cancel()
	var names []string
	for o := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix}) {
		if o.Err != nil {
			return nil, b.fail("", o.Err)
		}
		if name := strings.TrimPrefix(o.Key, b.prefix); !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names, ctx.Err()
}

// Remove deletes a backup. There is no error when it does not exist.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	err := b.client.RemoveObject(ctx, b.bucket, b.prefix+name, minio.RemoveObjectOptions{})
	if err != nil && !isNotFound(err) {
		return b.fail(name, err)
	}
	return nil
}

// fail returns the error of the service with the address that it is about.
func (b *Bucket) fail(name string, err error) error {
	if isNotFound(err) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return fmt.Errorf("%s: %w", b.Path(name), err)
}

// isNotFound reports whether the service answered that an object, and not the bucket, does not exist.
func isNotFound(err error) bool {
	answer := minio.ToErrorResponse(err)
	return answer.StatusCode == http.StatusNotFound && answer.Code != "NoSuchBucket"
}
