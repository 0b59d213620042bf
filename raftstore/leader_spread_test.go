package raftstore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/leadership"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
)

// A node delays its campaign by its leadership.Rank, in Raft and in leadership.WatchHeartbeats. The step is no shorter
// than the difference with which two nodes may notice (leadership/heartbeat.go), else they would campaign at once all
// the same.
func TestElectionsAreStaggered(t *testing.T) {
	if leadership.Stagger < 2*leadership.HeartbeatCheckPause {
		t.Errorf("nodes stand %s apart, and may notice %s late", leadership.Stagger, 2*leadership.HeartbeatCheckPause)
	}
	shut := func(s *Store) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	fs := vfs.NewMem()
	s := openA(t, fs, nil)
	if err := s.Group(1).WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	me := s.Group(1).servers().Servers[0]
	second := raft.Server{ID: "B~1", Address: "127.0.0.1:1"} // No process listens there.
	shut(s)
	rewrite(t, fs, s.cluster, func(l *pebblelog.Log) error {
		last, _ := l.LastIndex()
		servers := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{me, second}})
		return l.StoreLogs([]*raft.Log{{Index: last + 1, Term: 2, Type: raft.LogConfiguration, Data: servers}})
	})
	s = openA(t, fs, nil)
	defer shut(s)
	g := s.Group(1) // It prefers the second of two voters.
	if to, _ := leadership.Preferred(g.servers(), 1); to.ID != second.ID {
		t.Fatalf("%v of %v is preferred: the test tests nothing", to, g.servers())
	}
	want := leadership.Timeout + leadership.Stagger
	if g.heartbeat != want {
		t.Errorf("it looks for silence after %s, want %s", g.heartbeat, want)
	}
	rc := g.raft.ReloadableConfig() // It is a millisecond longer while checkHeartbeatTimer runs.
	if got := rc.HeartbeatTimeout.Truncate(leadership.Stagger); got != want || rc.ElectionTimeout != rc.HeartbeatTimeout {
		t.Errorf("raft stands for election after %s, then again after %s; want %s", rc.HeartbeatTimeout, rc.ElectionTimeout, want)
	}
}
