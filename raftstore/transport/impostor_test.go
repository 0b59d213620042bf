package transport

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/raftstoretest/certs"
)

// A member may call in its own name only: a call with the server id of another one is refused and counted, and its
// connection is closed.
func TestCallInAnotherNameIsRefused(t *testing.T) {
	a := certs.New(t)
	m, in, address := secured(t, files(a, "n1", time.Hour), "")
	_, out, _ := secured(t, files(a, "n2", time.Hour), "")
	out.mux.c.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}
	here, there := New(in, RPCsInFlight, hclog.NewNullLogger()), New(out, RPCsInFlight, hclog.NewNullLogger())
	defer here.Close()
	defer there.Close()
	go obey(here, "n1")
	call := func(id string) error {
		args := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte(id)}, Term: 5}
		return there.AppendEntries("n1", raft.ServerAddress(address), args, &raft.AppendEntriesResponse{})
	}
	if err := call("n2~1234"); err != nil {
		t.Errorf("for itself: %v", err)
	}
	if at := there.PeerContact("n1"); at.IsZero() {
		t.Error("the contact is not noted")
	}
	before, _ := here.LeaderContact()
	if err := call("n1~1234"); err == nil {
		t.Error("n2 called as n1")
	}
	if after, _ := here.LeaderContact(); !after.Equal(before) || m.Rejects().Name.Load() != 1 {
		t.Errorf("the call was noted, or not counted: %d", m.Rejects().Name.Load())
	}
}

// Whatever bytes come first, reading them does not panic, and what is accepted is written the same.
func FuzzHeader(f *testing.F) {
	f.Add(header{kind: Forward, cluster: cluster}.append(nil))
	f.Add(header{kind: Raft, group: 3, cluster: cluster, target: "n1~9f3c21d07a64be58"}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHeader(bytes.NewReader(b))
		if err == nil && !bytes.HasPrefix(b, h.append(nil)) {
			t.Errorf("%x is read as %+v", b, h)
		}
	})
}
