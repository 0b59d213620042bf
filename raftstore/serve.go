package raftstore

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
)

// serveForward serves the requests of one connection, many at a time. BOUND: LinkRequestsMax requests at once, and as
// many answers that wait to be written. Without writeTimeout, a peer that sends and does not read would hold that many
// requests of a leader, and the leader's Close, for as long as it liked.
//
// INVARIANT: when either side of the connection fails, reading or writing, gone is closed, and every goroutine here
// ends: the reader may wait for a slot, the holder of a slot for room among the answers, and the writer for a peer that
// does not read.
func (s *Store) serveForward(c net.Conn) {
	gone := make(chan struct{})
	out := make(chan []byte, LinkRequestsMax)
	slots := make(chan struct{}, LinkRequestsMax)
	ctx, cancel := context.WithCancel(s.ctx)
	end := sync.OnceFunc(func() {
		cancel()
		close(gone)
		c.Close()
	})
	var all sync.WaitGroup
	all.Go(func() {
		writeFrames(c, out, gone)
		end()
	})
	r := bufio.NewReaderSize(c, 64<<10)
	for {
		b, err := readFrame(r)
		if err != nil || len(b) < requestHead-4 {
			break
		}
		select {
		case slots <- struct{}{}:
			all.Go(func() {
				defer func() { <-slots }()
				reply := s.answerRequest(ctx, b)
				select {
				case out <- reply:
				case <-gone:
				}
			})
		case <-gone: // The connection is closed: reads fail once the buffer is empty.
		}
	}
	end()
	all.Wait()
}

// answerRequest serves a request and returns the frame with its answer.
func (s *Store) answerRequest(ctx context.Context, b []byte) []byte {
	status, payload := s.serveRequest(ctx, b[0], binary.BigEndian.Uint16(b[9:]), b[requestHead-4:])
	reply := binary.BigEndian.AppendUint32(make([]byte, 0, frameHead+len(payload)), uint32(frameHead-4+len(payload)))
	reply = append(append(reply, status), b[1:9]...)
	return append(reply, payload...)
}

func (s *Store) serveRequest(ctx context.Context, op byte, group uint16, payload []byte) (status byte, reply []byte) {
	if !s.serving.Load() || s.groups[group] == nil {
		return statusNotLeader, nil
	}
	g := s.groups[group]
	var err error
	switch {
	case !g.Ready():
		err = ErrNotLeader
	case op == opPropose:
		var result []byte
		var index uint64
		result, index, err = g.proposeLocal(ctx, payload)
		reply = append(binary.BigEndian.AppendUint64(make([]byte, 0, indexBytes+len(result)), index), result...)
	case op == opReadIndex:
		var index uint64
		index, err = g.lead.ReadIndex(ctx)
		reply = binary.BigEndian.AppendUint64(nil, index)
	default:
		err = ErrUnknown
	}
	switch {
	case err == nil:
		return statusOK, reply
	case errors.Is(err, ErrNotLeader), errors.Is(err, ErrClosed):
		leader, _ := g.raft.LeaderWithID()
		return statusNotLeader, []byte(leader)
	case errors.Is(err, ErrOverloaded):
		return statusOverload, nil
	case errors.Is(err, ErrTooLarge):
		return statusTooLarge, nil
	case errors.Is(err, ErrNoSpace):
		return statusNoSpace, nil
	default:
		return statusUnknown, nil
	}
}
