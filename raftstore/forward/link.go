package forward

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/raftstore/moment"
	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// link is one forward connection. Requests are pipelined.
//
// INVARIANT: every request in waiting gets exactly one answer: the peer's, or errLinkLost when the link is closed.
type link struct {
	conn   net.Conn
	out    chan []byte
	closed chan struct{}
	once   sync.Once

	lastAnswer moment.Last // When the last answer arrived, or when the connection was opened.

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan frame
}

// frame is an answer, or the end of the link.
type frame struct {
	status  byte
	payload []byte
	err     error
}

// exchange queues a request and waits for its answer, or until this node learns of another leader, because the old one
// may be gone without closing the connection. believed is the leader that this node knew before the request; a peer
// that named address as the leader knows better than that. If waited is not 0, the connection is to be closed when
// nothing has arrived on it for that long.
//
// INVARIANT: it returns with ctx, and after linkAnswerTimeout, whether there is room in the queue or not. The frames in
// the queue may be those of callers that left, so room in the queue does not show that the peer is alive, and the
// caller that waits for space is the one that finds out that the peer is gone.
func (k *link) exchange(ctx context.Context, g Group, address, believed string, request []byte, answer <-chan frame) (f frame, sent bool, waited time.Duration) {
	silence := linkAnswerTimeout
	if end, bounded := ctx.Deadline(); bounded { // The last attempt has to use a new connection.
		silence = min(silence, max(time.Until(end)/2, linkAnswerTimeoutMin))
	}
	timer := time.NewTimer(silence)
	defer timer.Stop()
	out := k.out
	for {
		moved := g.Lead.Changed()
		if l := g.Lead.Address(); l != "" && l != address && l != believed {
			return f, out == nil, linkAnswerTimeout
		}
		select {
		case out <- request:
			out = nil
		case f = <-answer:
			return f, out == nil, 0
		case <-timer.C:
			return f, out == nil, silence
		case <-ctx.Done():
			return f, out == nil, linkAnswerTimeout
		case <-moved:
		}
	}
}

// open opens a connection for every caller that waits for it. REQUIRES: Client.dialing has an entry of this caller.
func (l *Client) open(ctx context.Context, address string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, linkDialTimeout)
	defer cancel()
	c, err := l.dial(ctx, address)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.dialing[address])
	delete(l.dialing, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	if l.closed {
		return nil, errors.Join(errNotSent, c.Close())
	}
	l.dialed.Add(1)
	return l.add(address, c), nil
}

// add starts the reader and the writer of a connection. REQUIRES: mu is held.
func (l *Client) add(address string, c net.Conn) *link {
	k := &link{conn: c, out: make(chan []byte, RequestsMax), closed: make(chan struct{}), waiting: map[uint64]chan frame{}}
	k.lastAnswer.Mark()
	l.byAddr[address] = k
	l.done.Go(func() {
		writeFrames(c, k.out, k.closed)
		l.closeLink(address, k)
	})
	l.done.Go(func() {
		k.read()
		l.closeLink(address, k)
	})
	return k
}

// register registers a request and returns its id and the channel of its answer.
func (k *link) register() (id uint64, answer <-chan frame, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.waiting == nil:
		return 0, nil, errNotSent
	case len(k.waiting) >= RequestsMax:
		return 0, nil, proposal.ErrOverloaded
	}
	k.next++
	c := make(chan frame, 1)
	k.waiting[k.next] = c
	return k.next, c, nil
}

// unregister removes a request whose answer nobody waits for.
func (k *link) unregister(id uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.waiting, id)
}

func encodeRequest(op operation, id uint64, group uint16, payload []byte) []byte {
	b := make([]byte, 0, requestHead+len(payload))
	b = binary.BigEndian.AppendUint32(b, uint32(requestHead-4+len(payload)))
	b = append(b, byte(op))
	b = binary.BigEndian.AppendUint64(b, id)
	b = binary.BigEndian.AppendUint16(b, group)
	return append(b, payload...)
}

func (k *link) read() {
	r := bufio.NewReaderSize(k.conn, 64<<10)
	for {
		b, err := readFrame(r)
		if err != nil || len(b) < frameHead-4 {
			return
		}
		k.lastAnswer.Mark()
		id := binary.BigEndian.Uint64(b[1:])
		k.mu.Lock()
		answer := k.waiting[id]
		delete(k.waiting, id)
		k.mu.Unlock()
		if answer != nil {
			answer <- frame{status: b[0], payload: b[frameHead-4:]}
		}
	}
}

// readFrame reads a length and returns the bytes that follow it. BOUND: frameBytesMax.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > frameBytesMax {
		return nil, fmt.Errorf("a frame of %d bytes, at most %d", n, frameBytesMax)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// writeTimeout bounds a write to a peer that does not read while its connection stays open. The callers of that write
// have left by then.
const writeTimeout = 10 * time.Second

// deadlineConn is a connection on which a write fails after writeTimeout, or up to half of it earlier: the deadline is
// renewed when half of the last one is over, not for each write.
type deadlineConn struct {
	net.Conn
	deadline time.Time
}

func (p *deadlineConn) Write(b []byte) (int, error) {
	if now := time.Now(); p.deadline.Sub(now) < writeTimeout/2 {
		p.deadline = now.Add(writeTimeout)
		if err := p.SetWriteDeadline(p.deadline); err != nil {
			return 0, err
		}
	}
	return p.Conn.Write(b)
}

// writeFrames writes the frames of a queue and flushes when the queue is empty. It ends when gone is closed, or with a
// write that fails.
func writeFrames(c net.Conn, out <-chan []byte, gone <-chan struct{}) {
	w := bufio.NewWriterSize(&deadlineConn{Conn: c}, 64<<10)
	for {
		select {
		case b := <-out:
			if _, err := w.Write(b); err != nil {
				return
			}
			if len(out) > 0 {
				continue
			}
			if err := w.Flush(); err != nil {
				return
			}
		case <-gone:
			return
		}
	}
}
