package raftstore

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
)

// serveForward works on the requests of one connection, many at a time.
func (s *Store) serveForward(c net.Conn) {
	gone := make(chan struct{})
	out := make(chan []byte, LinkRequestsMax)
	slots := make(chan struct{}, LinkRequestsMax)
	ctx, cancel := context.WithCancel(s.life)
	var all sync.WaitGroup
	all.Go(func() { writeFrames(c, out, gone); c.Close() })
	r := bufio.NewReaderSize(c, 64<<10)
	for {
		b, err := readFrame(r)
		if err != nil || len(b) < requestHead-4 {
			break
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			status, payload := s.serveRequest(ctx, b[0], binary.BigEndian.Uint16(b[9:]), b[requestHead-4:])
			reply := binary.BigEndian.AppendUint32(make([]byte, 0, frameHead+len(payload)), uint32(frameHead-4+len(payload)))
			reply = append(append(reply, status), b[1:9]...)
			select {
			case out <- append(reply, payload...):
			case <-gone:
			}
		})
	}
	cancel()
	close(gone)
	all.Wait()
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
		result, index, err = g.proposeHere(ctx, payload)
		reply = append(binary.BigEndian.AppendUint64(make([]byte, 0, indexBytes+len(result)), index), result...)
	case op == opReadIndex:
		var index uint64
		index, err = g.readIndex(ctx)
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
