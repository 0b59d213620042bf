package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net"
	"time"
)

// The protocol by which nodes exchange files. A connection carries one request:
//
//	op u8 | length of name u8 | name          and after a put: file
//	answer u8                                 and after a get that found something: file
//	file = { length u32 | bytes } | 0 u32 | SHA-256 of all bytes       (lengths are big-endian)
const (
	opPut  = 'P'
	opGet  = 'G'
	opDrop = 'D'

	answerDone    = 'd'
	answerUnknown = 'u'
	answerFailed  = 'f'

	pieceMax     = 64 << 10
	pieceTimeout = 10 * time.Second // BOUND: time for a piece of a file, or for an answer.
	// BOUND: bytes that a peer may send as one file. Lists have at most 64 MiB, videos 50 MiB.
	fileMax = 80 << 20
)

var (
	errFailed   = errors.New("the node could not carry out the request")
	errDamaged  = errors.New("the file was damaged on the way")
	errProtocol = errors.New("the peer violated the file protocol")
)

// deadlineConn gives every single read and write of a connection pieceTimeout.
type deadlineConn struct{ net.Conn }

func (c deadlineConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(pieceTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c deadlineConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(pieceTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// request opens a connection to a node and sends a request; then reads the answer. The connection closes with the context.
func (s *Shared) request(ctx context.Context, node string, op byte, name string, then func(net.Conn) error) error {
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	raw, err := s.nodes.Dial(dialing, node)
	if err != nil {
		return err
	}
	c := deadlineConn{raw}
	defer func() { _ = c.Close() }() // An error before this one matters more.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	if _, err := c.Write(append([]byte{op, byte(len(name))}, name...)); err != nil {
		return err
	}
	return then(c)
}

func readAnswer(c io.Reader) error {
	var b [1]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	switch b[0] {
	case answerDone:
		return nil
	case answerUnknown:
		return ErrNotFound
	default:
		return errFailed
	}
}

// push sends a copy of this node's file to another node.
func (s *Shared) push(ctx context.Context, node, name string) error {
	f, err := s.local.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // It was only read.
	return s.request(ctx, node, opPut, name, func(c net.Conn) error {
		if err := writeFile(c, f); err != nil {
			return err
		}
		return readAnswer(c)
	})
}

// pull stores a copy of another node's file.
func (s *Shared) pull(ctx context.Context, node, name string) error {
	return s.request(ctx, node, opGet, name, func(c net.Conn) error {
		if err := readAnswer(c); err != nil {
			return err
		}
		return s.local.Put(ctx, name, newFileReader(c))
	})
}

func (s *Shared) removeFrom(ctx context.Context, node, name string) error {
	return s.request(ctx, node, opDrop, name, func(c net.Conn) error { return readAnswer(c) })
}

// Serve answers one request of another node. REQUIRES: the caller closes the connection, and has verified that it comes from a member
// of the cluster.
func (s *Shared) Serve(raw net.Conn) {
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	default:
		return // The peer asks another node, or again.
	}
	c := deadlineConn{raw}
	var head [2]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return
	}
	name := make([]byte, head[1])
	if _, err := io.ReadFull(c, name); err != nil || !valid(string(name)) {
		return
	}
	if err := s.answer(c, head[0], string(name)); err != nil {
		s.log.Debug("blob_peer_request_failed", slog.String("op", string(head[:1])), slog.Any("err", err))
	}
}

func (s *Shared) answer(c net.Conn, op byte, name string) error {
	ctx := context.Background() // Each read and write has its own deadline.
	switch op {
	case opPut:
		return writeAnswer(c, s.local.Put(ctx, name, newFileReader(c)))
	case opDrop:
		return writeAnswer(c, s.local.Remove(ctx, name))
	case opGet:
		f, err := s.local.Open(ctx, name)
		if err != nil {
			return writeAnswer(c, err)
		}
		defer func() { _ = f.Close() }() // It was only read.
		return errors.Join(writeAnswer(c, nil), writeFile(c, f))
	default:
		return errProtocol
	}
}

// writeAnswer writes the result of a request.
func writeAnswer(c io.Writer, err error) error {
	answer := byte(answerDone)
	if errors.Is(err, ErrNotFound) {
		answer, err = answerUnknown, nil
	}
	if err != nil {
		answer = answerFailed
	}
	_, written := c.Write([]byte{answer})
	return errors.Join(err, written)
}

// writeFile sends a file in pieces, then its hash.
func writeFile(w io.Writer, r io.Reader) error {
	sum, piece := sha256.New(), make([]byte, 4+pieceMax)
	for {
		n, err := io.ReadFull(r, piece[4:])
		if n > 0 {
			sum.Write(piece[4 : 4+n])
			binary.BigEndian.PutUint32(piece, uint32(n)) //nolint:gosec // at most pieceMax.
			if _, err := w.Write(piece[:4+n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			_, err = w.Write(sum.Sum(make([]byte, 4, 4+sha256.Size)))
			return err
		}
		if err != nil {
			return err
		}
	}
}

// fileReader reads what writeFile sent. It returns io.EOF only when the hash is right. A file that was cut off or damaged on the way
// is an error of the reader, so it is never stored.
type fileReader struct {
	r     io.Reader
	sum   hash.Hash
	piece int // Bytes left in the present piece.
	total int64
	err   error
}

func newFileReader(r io.Reader) *fileReader { return &fileReader{r: r, sum: sha256.New()} }

// Read implements io.Reader.
func (f *fileReader) Read(p []byte) (int, error) {
	for f.err == nil && f.piece == 0 {
		f.err = f.next()
	}
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.r.Read(p[:min(len(p), f.piece)])
	f.sum.Write(p[:n])
	f.piece -= n
	if err != nil {
		f.err = unexpected(err)
	}
	return n, f.err
}

// next begins a piece, or ends the file.
func (f *fileReader) next() error {
	var length [4]byte
	if _, err := io.ReadFull(f.r, length[:]); err != nil {
		return unexpected(err)
	}
	n := int64(binary.BigEndian.Uint32(length[:]))
	if f.total += n; n > pieceMax || f.total > fileMax {
		return fmt.Errorf("%w: a piece of %d bytes, %d together", errProtocol, n, f.total)
	}
	if f.piece = int(n); n > 0 {
		return nil
	}
	var sum [sha256.Size]byte
	if _, err := io.ReadFull(f.r, sum[:]); err != nil {
		return unexpected(err)
	}
	if !bytes.Equal(sum[:], f.sum.Sum(nil)) {
		return errDamaged
	}
	return io.EOF
}

// unexpected turns io.EOF in the middle of a file into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
