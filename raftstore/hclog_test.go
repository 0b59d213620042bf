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
	log.Error("peer has newer term, stopping replication", "peer", "n2")
	if b.Len() > 0 {
		t.Errorf("logged %s", &b)
	}
	log.Error("failed to flush response", "error", &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)})
	if !strings.Contains(b.String(), "level=WARN") {
		t.Errorf("logged %q", &b)
	}
	log.Error("failed to decode incoming command", "error", io.ErrUnexpectedEOF)
	if !strings.Contains(b.String(), "level=ERROR") {
		t.Errorf("logged %q", &b)
	}
}
