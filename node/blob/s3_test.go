package blob_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/blob"
)

// bucket is the part of an S3 service that the store uses: objects, multipart uploads, ranges and lists. It accepts every
// signature but requires one.
type bucket struct {
	name   string
	server *httptest.Server
	forget bool // If true, no content is stored, to measure the memory of the client.
	mu     sync.Mutex
	stored map[string]stored
	parts  map[string]map[int][]byte
}

type stored struct {
	content []byte
	at      time.Time
}

func newBucket(t *testing.T, name string) *bucket {
	t.Helper()
	b := &bucket{name: name, stored: map[string]stored{}, parts: map[string]map[int][]byte{}}
	b.server = httptest.NewServer(b)
	t.Cleanup(b.server.Close)
	return b
}

func (b *bucket) open(t *testing.T, prefix string) *blob.S3 {
	t.Helper()
	s, err := blob.OpenS3(blob.S3Config{
		Endpoint: strings.TrimPrefix(b.server.URL, "http://"), Region: "eu-test-1", Bucket: b.name, Prefix: prefix,
		AccessKey: "access", SecretKey: "secret", Insecure: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bucket) objects() map[string]stored {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.stored)
}

// ServeHTTP answers one request of the S3 protocol.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=access/") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name != b.name {
		s3Error(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	content, err := body(r)
	if err != nil {
		s3Error(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q := r.URL.Query()
	upload := q.Get("uploadId")
	switch {
	case key == "" && r.Method == http.MethodHead:
	case key == "":
		b.list(w, q.Get("prefix"))
	case r.Method == http.MethodPost && q.Has("uploads"):
		id := strconv.Itoa(len(b.parts) + 1)
		b.parts[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case r.Method == http.MethodPut && upload != "":
		n, _ := strconv.Atoi(q.Get("partNumber"))
		b.parts[upload][n] = b.keep(content)
		w.Header().Set("ETag", `"part"`)
	case r.Method == http.MethodPost && upload != "":
		var whole []byte
		for _, n := range slices.Sorted(maps.Keys(b.parts[upload])) {
			whole = append(whole, b.parts[upload][n]...)
		}
		b.stored[key] = stored{whole, time.Now()}
		delete(b.parts, upload)
		fmt.Fprintf(w, `<CompleteMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><ETag>"whole"</ETag></CompleteMultipartUploadResult>`, b.name, key)
	case r.Method == http.MethodDelete && upload != "":
		delete(b.parts, upload)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		b.stored[key] = stored{b.keep(content), time.Now()}
		w.Header().Set("ETag", `"whole"`)
	case r.Method == http.MethodDelete:
		delete(b.stored, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		b.get(w, r, key)
	}
}

func (b *bucket) keep(content []byte) []byte {
	if b.forget {
		return nil
	}
	return content
}

func (b *bucket) get(w http.ResponseWriter, r *http.Request, key string) {
	o, ok := b.stored[key]
	if !ok {
		s3Error(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", `"whole"`)
	http.ServeContent(w, r, "", o.at, bytes.NewReader(o.content))
}

func (b *bucket) list(w http.ResponseWriter, prefix string) {
	type contents struct {
		Key          string
		LastModified string
		Size         int
	}
	var answer struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []contents
	}
	for key, o := range b.stored {
		if strings.HasPrefix(key, prefix) {
			answer.Contents = append(answer.Contents, contents{key, o.at.UTC().Format(time.RFC3339), len(o.content)})
		}
	}
	slices.SortFunc(answer.Contents, func(a, b contents) int { return cmp.Compare(a.Key, b.Key) })
	_ = xml.NewEncoder(w).Encode(answer)
}

func s3Error(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

// body reads a request's body, which may come in signed chunks: size;chunk-signature=…, the bytes, and at the end trailers.
func body(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	in := bufio.NewReader(r.Body)
	var all []byte
	for {
		head, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(strings.SplitN(head, ";", 2)[0]), 16, 64)
		if err != nil {
			return nil, err
		}
		if size == 0 {
			_, err := io.Copy(io.Discard, in)
			return all, err
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		all = append(all, chunk[:size]...)
	}
}

// TestS3Refusals: a missing bucket is detected at the start, and invalid names are not sent to a bucket.
func TestS3Refusals(t *testing.T) {
	b := newBucket(t, "files")
	b.name = "another"
	s := b.open(t, "")
	b.name = "files"
	if err := s.Check(t.Context()); err == nil {
		t.Error("a bucket that does not exist passes")
	}
	if err := s.Put(t.Context(), blob.Name("a", 1), strings.NewReader("x")); err == nil {
		t.Error("a file went into a bucket that does not exist")
	}
}
