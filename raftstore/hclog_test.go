package raftstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
)

// Raft reports the connections that a stopping node closes as errors; they are none.
func TestConnectionsThatWereClosedHereAreNoErrors(t *testing.T) {
	var b bytes.Buffer
	log := newHCLog(slog.New(slog.NewTextHandler(&b, nil))).Named("net")
	log.Error("failed to decode incoming command", "error", &net.OpError{Op: "read", Err: net.ErrClosed})
	log.Error("failed to decode incoming command", "error", raft.ErrTransportShutdown)
	log.Error("failed to make requestVote RPC", "error", fmt.Errorf("dial tcp: %w", context.Canceled))
	log.Error("failed to heartbeat to", "error", fmt.Errorf("n2: %w", decodeError{&net.OpError{Op: "read", Err: net.ErrClosed}}))
	log.Error("peer has newer term, stopping replication", "peer", "n2")
	if b.Len() > 0 {
		t.Errorf("logged %s", &b)
	}
	log.Error("failed to flush response", "error", &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)})
	log.Error("failed to heartbeat to", "error", decodeError{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}})
	if strings.Count(b.String(), "level=WARN") != 2 {
		t.Errorf("logged %q", &b)
	}
	log.Error("failed to heartbeat to", "error", decodeError{})
	log.Error("failed to decode incoming command", "error", io.ErrUnexpectedEOF)
	if strings.Count(b.String(), "level=ERROR") != 2 {
		t.Errorf("logged %q", &b)
	}
}

// decodeError is an error as go-msgpack has them: with Cause, and without Unwrap.
type decodeError struct{ cause error }

func (e decodeError) Error() string {
	return fmt.Sprintf("msgpack decode error [pos 8016]: %v", e.cause)
}
func (e decodeError) Cause() error { return e.cause }
