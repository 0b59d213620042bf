package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3Config says where the bucket is.
type S3Config struct {
	Endpoint  string // HOST or HOST:PORT.
	Region    string
	Bucket    string
	Prefix    string // Prefix of every object's name, such as "gavel/".
	AccessKey string
	SecretKey string
	Insecure  bool // Plain HTTP, for a service on the same machine.
}

// partSize is the size in bytes of the parts of a file of unknown length, and the memory that storing it takes. BOUND: the least
// that S3 accepts; the most, 10,000 parts, make 50 GB.
const partSize = 5 << 20

// S3 keeps files in a bucket. Uploads pass through the node, which checks their content first, so the bucket stays private and needs
// no CORS rules.
type S3 struct {
	client *minio.Client
	config S3Config
}

// OpenS3 prepares a client for a bucket. Nothing is sent before its first use.
func OpenS3(c S3Config) (*S3, error) {
	client, err := minio.New(c.Endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(c.AccessKey, c.SecretKey, ""), Secure: !c.Insecure, Region: c.Region,
	})
	if err != nil {
		return nil, fmt.Errorf("blob bucket: %w", err)
	}
	return &S3{client, c}, nil
}

// Put stores a file. A part that fails is sent again. When the reader fails, the upload is aborted.
func (s *S3) Put(ctx context.Context, name string, r io.Reader) error {
	if !valid(name) {
		return fmt.Errorf("blob: %q is not a valid name", name)
	}
	return s.put(ctx, name, r)
}

func (s *S3) put(ctx context.Context, name string, r io.Reader) error {
	// The wrapper hides other methods of r: the client would measure a seekable reader and read it in parallel.
	_, err := s.client.PutObject(ctx, s.config.Bucket, s.config.Prefix+name, struct{ io.Reader }{r}, -1, minio.PutObjectOptions{
		PartSize: partSize, NumThreads: 1, ContentType: "application/octet-stream",
	})
	if err != nil {
		return fmt.Errorf("blob bucket: %w", err)
	}
	return nil
}

type s3File struct {
	*minio.Object
	size int64
}

// Size is the size of the file in bytes.
func (f s3File) Size() int64 { return f.size }

// Open opens a file. Its bytes are downloaded when they are read.
func (s *S3) Open(ctx context.Context, name string) (File, error) {
	if !valid(name) {
		return nil, ErrNotFound
	}
	object, err := s.client.GetObject(ctx, s.config.Bucket, s.config.Prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, s.error(err)
	}
	info, err := object.Stat()
	if err != nil {
		return nil, errors.Join(s.error(err), object.Close())
	}
	return s3File{object, info.Size}, nil
}

// Remove deletes a file.
func (s *S3) Remove(ctx context.Context, name string) error {
	if !valid(name) {
		return nil
	}
	err := s.error(s.client.RemoveObject(ctx, s.config.Bucket, s.config.Prefix+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Walk lists the files.
func (s *S3) Walk(ctx context.Context, fn func(string, time.Time) error) error {
	ctx, cancel := context.WithCancel(ctx) // It ends the client's goroutine when fn fails.
	defer cancel()
	for o := range s.client.ListObjects(ctx, s.config.Bucket, minio.ListObjectsOptions{Prefix: s.config.Prefix, Recursive: true}) {
		if o.Err != nil {
			return s.error(o.Err)
		}
		if name := o.Key[len(s.config.Prefix):]; valid(name) {
			if err := fn(name, o.LastModified); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// Check asks the service whether the bucket exists.
func (s *S3) Check(ctx context.Context) error {
	found, err := s.client.BucketExists(ctx, s.config.Bucket)
	if err != nil {
		return s.error(err)
	}
	if !found {
		return fmt.Errorf("blob bucket: the bucket %q does not exist", s.config.Bucket)
	}
	return nil
}

func (s *S3) error(err error) error {
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		return ErrNotFound
	}
	return fmt.Errorf("blob bucket: %w", err)
}
