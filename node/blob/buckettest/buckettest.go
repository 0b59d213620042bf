// Package buckettest is the part of an S3 service that Gavel uses, in memory, for tests: objects, multipart uploads,
// ranges and lists. It accepts every signature but requires one.
package buckettest

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
)

// The keys that a client must use.
const (
	AccessKey = "access"
	SecretKey = "secret"
)

// Bucket is a service with one bucket.
type Bucket struct {
	Forget bool // If true, no content is stored, to measure the memory of the client. It is set before the first request.

	name   string
	server *httptest.Server
	mu     sync.Mutex
	stored map[string]stored
	parts  map[string]map[int][]byte // By upload.
	begun  int                       // Number of uploads that were begun.
	refuse func(*http.Request) bool
}

type stored struct {
	content []byte
	at      time.Time
}

// New starts a service, which ends with the test.
func New(t *testing.T, name string) *Bucket {
	t.Helper()
	b := &Bucket{name: name, stored: map[string]stored{}, parts: map[string]map[int][]byte{}}
	b.server = httptest.NewServer(b)
	t.Cleanup(b.server.Close)
	return b
}

// Endpoint is the HOST:PORT of the service, which speaks plain HTTP.
func (b *Bucket) Endpoint() string { return strings.TrimPrefix(b.server.URL, "http://") }

// Objects returns the contents of the objects by their keys.
func (b *Bucket) Objects() map[string][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string][]byte{}
	for key, o := range b.stored {
		all[key] = o.content
	}
	return all
}

// Uploads returns how many multipart uploads were neither completed nor aborted.
func (b *Bucket) Uploads() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.parts)
}

// Set stores an object.
func (b *Bucket) Set(key string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stored[key] = stored{content, time.Now()}
}

// Refuse makes the service answer 403 to the requests for which fn returns true. fn may change the bucket.
func (b *Bucket) Refuse(fn func(*http.Request) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = fn
}

func (b *Bucket) refuses(r *http.Request) bool {
	b.mu.Lock()
	fn := b.refuse
	b.mu.Unlock()
	return fn != nil && fn(r)
}

// ServeHTTP answers one request of the S3 protocol.
func (b *Bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="+AccessKey+"/") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name != b.name {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	content, err := body(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	if b.refuses(r) {
		refuse(w, http.StatusForbidden, "AccessDenied")
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q := r.URL.Query()
	upload := q.Get("uploadId")
	switch {
	case upload != "" && b.parts[upload] == nil:
		refuse(w, http.StatusNotFound, "NoSuchUpload")
	case key == "" && r.Method == http.MethodHead:
	case key == "":
		b.list(w, q.Get("prefix"))
	case r.Method == http.MethodPost && q.Has("uploads"):
		b.begun++
		id := strconv.Itoa(b.begun)
		b.parts[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case r.Method == http.MethodPut && upload != "":
		n, _ := strconv.Atoi(q.Get("partNumber"))
		b.parts[upload][n] = b.keep(content)
		w.Header().Set("ETag", `"part"`)
	case r.Method == http.MethodPost && upload != "":
		b.complete(w, key, upload)
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

func (b *Bucket) keep(content []byte) []byte {
	if b.Forget {
		return nil
	}
	return content
}

// complete makes an object of the parts of an upload.
func (b *Bucket) complete(w http.ResponseWriter, key, upload string) {
	var whole []byte
	for _, n := range slices.Sorted(maps.Keys(b.parts[upload])) {
		whole = append(whole, b.parts[upload][n]...)
	}
	b.stored[key] = stored{whole, time.Now()}
	delete(b.parts, upload)
	const answer = `<CompleteMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><ETag>"whole"</ETag></CompleteMultipartUploadResult>`
	fmt.Fprintf(w, answer, b.name, key) //nolint:gosec // No browser reads it.
}

func (b *Bucket) get(w http.ResponseWriter, r *http.Request, key string) {
	o, ok := b.stored[key]
	if !ok {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", `"whole"`)
	http.ServeContent(w, r, "", o.at, bytes.NewReader(o.content))
}

func (b *Bucket) list(w http.ResponseWriter, prefix string) {
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

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

// body reads a request's body, which may come in signed chunks: size;chunk-signature=…, the bytes, and at the end
// trailers.
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
