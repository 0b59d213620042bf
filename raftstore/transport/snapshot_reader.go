package transport

import (
	"errors"
	"io"
	"net"
	"time"
)

// snapshotStall is the time without a byte of a snapshot after which the follower gives it up. The leader sends it
// again.
const snapshotStall = 2 * time.Second

// snapshotReader reads the content of a snapshot that a leader sends. Raft reads it in its main loop, without a
// deadline: while a leader that was stopped or cut off in the middle of a snapshot keeps the connection open, the
// follower would vote for nobody. With three nodes no leader could then be elected until that one came back.
//
// INVARIANT: after an error the connection is closed, because what comes next on it would be the rest of the snapshot,
// and each further Read returns the error at once.
type snapshotReader struct {
	src  io.Reader // Ends with the snapshot.
	conn net.Conn
	err  error
}

// Read reads what arrives within snapshotStall.
func (in *snapshotReader) Read(b []byte) (n int, err error) {
	if in.err != nil {
		return 0, in.err
	}
	if err := in.conn.SetReadDeadline(time.Now().Add(snapshotStall)); err != nil {
		in.err = err
		return 0, err
	}
	n, in.err = in.src.Read(b)
	switch {
	case in.err == nil:
	case errors.Is(in.err, io.EOF): // The snapshot is complete, or Raft will count that it is not.
		_ = in.conn.SetReadDeadline(time.Time{}) // If that fails, so does the next call.
	default:
		_ = in.conn.Close() // The error of the read says more.
	}
	return n, in.err
}
