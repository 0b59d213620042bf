package forward

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// Leader is what a node does for the nodes that forward to it. A group that this node does not lead, or does not have,
// is proposal.ErrNotLeader.
type Leader interface {
	// Propose commits a command as the leader and returns its result and the index of its entry.
	Propose(ctx context.Context, group uint16, cmd []byte) (result []byte, index uint64, err error)
	// ReadIndex confirms that this node leads and returns an index that includes every command answered before.
	ReadIndex(ctx context.Context, group uint16) (index uint64, err error)
	// Address returns the address of the leader as far as this node knows, or "".
	Address(group uint16) string
}

// Serve serves the requests of one connection, many at a time, until the connection or ctx ends. BOUND: RequestsMax
// requests at once, and as many answers that wait to be written. Without writeTimeout, a peer that sends and does not
// read would hold that many requests of a leader, and the leader's Close, for as long as it liked.
//
// INVARIANT: when either side of the connection fails, reading or writing, gone is closed, and every goroutine here
// ends: the reader may wait for a slot, the holder of a slot for space among the answers, and the writer for a peer that
// does not read.
func Serve(ctx context.Context, c net.Conn, l Leader) {
	gone := make(chan struct{})
	out := make(chan []byte, RequestsMax)
	slots := make(chan struct{}, RequestsMax)
	ctx, cancel := context.WithCancel(ctx)
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
				reply := answerRequest(ctx, l, b)
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
func answerRequest(ctx context.Context, l Leader, b []byte) []byte {
	status, payload := serveRequest(ctx, l, operation(b[0]), binary.BigEndian.Uint16(b[9:]), b[requestHead-4:])
	reply := binary.BigEndian.AppendUint32(make([]byte, 0, frameHead+len(payload)), uint32(frameHead-4+len(payload)))
	reply = append(append(reply, status), b[1:9]...)
	return append(reply, payload...)
}

func serveRequest(ctx context.Context, l Leader, op operation, group uint16, payload []byte) (status byte, reply []byte) {
	var err error
	switch op {
	case opPropose:
		var result []byte
		var index uint64
		result, index, err = l.Propose(ctx, group, payload)
		reply = append(binary.BigEndian.AppendUint64(make([]byte, 0, indexBytes+len(result)), index), result...)
	case opReadIndex:
		var index uint64
		index, err = l.ReadIndex(ctx, group)
		reply = binary.BigEndian.AppendUint64(nil, index)
	default:
		err = proposal.ErrUnknown
	}
	switch {
	case err == nil:
		return statusOK, reply
	case errors.Is(err, proposal.ErrNotLeader), errors.Is(err, proposal.ErrClosed):
		return statusNotLeader, []byte(l.Address(group))
	case errors.Is(err, proposal.ErrOverloaded):
		return statusOverload, nil
	case errors.Is(err, proposal.ErrTooLarge):
		return statusTooLarge, nil
	case errors.Is(err, proposal.ErrNoSpace):
		return statusNoSpace, nil
	default:
		return statusUnknown, nil
	}
}
