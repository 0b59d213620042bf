package blob

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
)

// digestField is the trailer of RFC 9530 with the hash of a file. It follows the file, so that a file is read once.
const digestField = "Repr-Digest"

// fileMax is how many bytes a peer may send as one file. BOUND: lists have at most 64 MiB, videos 50 MiB.
const fileMax = 80 << 20

var (
	errDamaged  = errors.New("the file was damaged on the way")
	errTooLarge = fmt.Errorf("a peer sent more than %d bytes as one file", fileMax)
)

func digest(h hash.Hash) string {
	return "sha-256=:" + base64.StdEncoding.EncodeToString(h.Sum(nil)) + ":"
}

// sender reads a file that is sent, and sets its trailer at the end.
type sender struct {
	file     io.Reader
	sum      hash.Hash
	trailer  http.Header
	progress func()
}

func newSender(file io.Reader) *sender { return &sender{file: file, sum: sha256.New()} }

// Read implements io.Reader.
func (s *sender) Read(p []byte) (int, error) {
	s.progress()
	n, err := s.file.Read(p)
	s.sum.Write(p[:n])
	if errors.Is(err, io.EOF) {
		s.trailer.Set(digestField, digest(s.sum))
	}
	return n, err
}

// receiver reads a file that a peer sends. It returns io.EOF only when the hash is right. A file that was cut off or damaged on
// the way is an error of the reader, so it is never stored.
type receiver struct {
	body     io.Reader
	trailer  func() http.Header // Complete when body returned io.EOF.
	sum      hash.Hash
	total    int
	progress func()
}

func newReceiver(body io.Reader, trailer func() http.Header, progress func()) *receiver {
	return &receiver{body: body, trailer: trailer, sum: sha256.New(), progress: progress}
}

// Read implements io.Reader.
func (r *receiver) Read(p []byte) (int, error) {
	r.progress()
	n, err := r.body.Read(p)
	r.sum.Write(p[:n])
	switch r.total += n; {
	case r.total > fileMax:
		return n, errTooLarge
	case errors.Is(err, io.EOF) && r.trailer().Get(digestField) != digest(r.sum):
		return n, errDamaged
	}
	return n, err
}
