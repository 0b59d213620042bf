package raftstore

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
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// link is one connection. Requests are pipelined.
//
// INVARIANT: every request in waiting gets exactly one answer: the peer's, or errLinkLost when the link ends.
type link struct {
	conn net.Conn
	out  chan []byte
	gone chan struct{}
	once sync.Once

	heard moment.Last // Of the last answer, or of the beginning.

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

// await waits for an answer. A waited other than 0 says how long a connection must have been silent to be given up.
func (k *link) await(ctx context.Context, g *Group, address string, answer <-chan frame) (f frame, waited time.Duration) {
	silence := linkSilence
	if end, bounded := ctx.Deadline(); bounded { // The last try has to be on a fresh connection.
		silence = min(silence, max(time.Until(end)/2, linkPatience))
	}
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for {
		moved := g.moved()
		if leader, _ := g.raft.LeaderWithID(); leader != "" && string(leader) != address {
			return f, linkSilence
		}
		select {
		case f = <-answer:
			return f, 0
		case <-timer.C:
			return f, silence
		case <-ctx.Done():
			return f, linkSilence
		case <-moved:
		}
	}
}

// dial opens a connection for everybody who waits. REQUIRES: dialing says that this caller does.
func (l *links) dial(ctx context.Context, address string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, linkDialTimeout)
	defer cancel()
	c, err := l.store.mux.Dial(ctx, transport.Forward, address)
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
	k := &link{conn: c, out: make(chan []byte, LinkRequestsMax), gone: make(chan struct{}), waiting: map[uint64]chan frame{}}
	k.heard.Mark()
	l.byAddr[address] = k
	l.done.Go(func() {
		writeFrames(c, k.out, k.gone)
		l.drop(address, k)
	})
	l.done.Go(func() {
		k.read()
		l.drop(address, k)
	})
	return k, nil
}

func (k *link) send(op byte, group uint16, payload []byte) (id uint64, reply <-chan frame, err error) {
	answer := make(chan frame, 1)
	k.mu.Lock()
	if k.waiting == nil {
		k.mu.Unlock()
		return 0, nil, errNotSent
	}
	if len(k.waiting) >= LinkRequestsMax {
		k.mu.Unlock()
		return 0, nil, ErrOverloaded
	}
	k.next++
	id = k.next
	k.waiting[id] = answer
	k.mu.Unlock()
	b := make([]byte, 0, requestHead+len(payload))
	b = binary.BigEndian.AppendUint32(b, uint32(requestHead-4+len(payload)))
	b = append(b, op)
	b = binary.BigEndian.AppendUint64(b, id)
	b = binary.BigEndian.AppendUint16(b, group)
	select {
	case k.out <- append(b, payload...):
	case <-k.gone: // drop answers.
	}
	return id, answer, nil
}

func (k *link) read() {
	r := bufio.NewReaderSize(k.conn, 64<<10)
	for {
		b, err := readFrame(r)
		if err != nil || len(b) < frameHead-4 {
			return
		}
		k.heard.Mark()
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

// readFrame returns what follows a length.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > frameBytesMax {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// writeFrames writes what comes out of a queue and flushes when the queue is empty.
func writeFrames(c net.Conn, out <-chan []byte, gone <-chan struct{}) {
	w := bufio.NewWriterSize(c, 64<<10)
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
