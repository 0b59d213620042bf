package raftstore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/pebblelog"
)

// Neighbouring groups have different preferred leaders, and leaderRank counts on from there, in the order of nodes and
// not of incarnations.
func TestLeaderOrderRotates(t *testing.T) {
	c := raft.Configuration{Servers: []raft.Server{
		{ID: "n3~1"}, {ID: "n1~9"}, {ID: "n4~0", Suffrage: raft.Nonvoter}, {ID: "n2~5"},
	}}
	for group, want := range [][]raft.ServerID{
		{"n1~9", "n2~5", "n3~1"},
		{"n2~5", "n3~1", "n1~9"},
		{"n3~1", "n1~9", "n2~5"},
		{"n1~9", "n2~5", "n3~1"},
	} {
		for i, id := range want {
			if got := leaderRank(c, uint16(group), id); got != i {
				t.Errorf("group %d: %s has rank %d, want %d", group, id, got, i)
			}
		}
		if got, found := preferredLeader(c, uint16(group)); !found || got.ID != want[0] {
			t.Errorf("group %d: %s should lead, want %s", group, got.ID, want[0])
		}
		if got := leaderRank(c, uint16(group), "n4~0"); got != 0 {
			t.Errorf("group %d: one without a vote has rank %d", group, got)
		}
	}
	if _, found := preferredLeader(raft.Configuration{}, 1); found || leaderRank(raft.Configuration{}, 1, "n1~9") != 0 {
		t.Error("a group without voters has a leader")
	}
}

// A node delays its campaign by its leaderRank, in Raft and in watchHeartbeats. The step is no shorter than the
// difference with which two nodes may notice (heartbeat_timer.go), else they would campaign at once all the same.
func TestElectionsAreStaggered(t *testing.T) {
	if clusterStagger < 2*heartbeatCheckPause {
		t.Errorf("nodes stand %s apart, and may notice %s late", clusterStagger, 2*heartbeatCheckPause)
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
	me, _ := s.Group(1).self()
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
	if to, _ := preferredLeader(g.servers(), 1); to.ID != second.ID {
		t.Fatalf("%v of %v is preferred: the test tests nothing", to, g.servers())
	}
	want := clusterTimeout + clusterStagger
	if g.heartbeat != want {
		t.Errorf("it looks for silence after %s, want %s", g.heartbeat, want)
	}
	rc := g.raft.ReloadableConfig() // It is a millisecond longer while checkHeartbeatTimer runs.
	if got := rc.HeartbeatTimeout.Truncate(clusterStagger); got != want || rc.ElectionTimeout != rc.HeartbeatTimeout {
		t.Errorf("raft stands for election after %s, then again after %s; want %s", rc.HeartbeatTimeout, rc.ElectionTimeout, want)
	}
}
