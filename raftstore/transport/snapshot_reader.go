package transport

import (
	"errors"
	"io"
	"net"
	"time"
)

// snapshotStall is how long nothing of a snapshot may arrive before the follower gives it up. The leader sends it again.
const snapshotStall = 2 * time.Second

// incoming is the content of a snapshot on its way in. Raft reads it in its main loop, without a deadline: while a leader that
// was stopped or cut off in the midst of one keeps the connection open, the follower would vote for nobody. With three
// nodes nobody could then be elected until that leader came back.
//
// INVARIANT: after an error the connection is closed, for what comes next on it would be the rest of the snapshot, and each
// further Read returns the error at once.
type incoming struct {
	from io.Reader // Ends with the snapshot.
	conn net.Conn
	over error
}

// Read reads what comes within snapshotStall.
func (in *incoming) Read(b []byte) (n int, err error) {
	if in.over != nil {
		return 0, in.over
	}
	if err := in.conn.SetReadDeadline(time.Now().Add(snapshotStall)); err != nil {
		in.over = err
		return 0, err
	}
	n, in.over = in.from.Read(b)
	switch {
	case in.over == nil:
	case errors.Is(in.over, io.EOF): // The snapshot is complete, or raft will count that it is not.
		_ = in.conn.SetReadDeadline(time.Time{}) // If that fails, so does the next call.
	default:
		_ = in.conn.Close() // The error says more.
	}
	return n, in.over
}
