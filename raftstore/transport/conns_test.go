package transport

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// A node with the largest number of groups accepts the connections of all its peers, one with few groups as many as the
// minimum, and none accepts more than its bound.
func TestRoomForTheConnectionsOfAllGroups(t *testing.T) {
	for _, tc := range []struct{ groups, limit int }{{0, 1024}, {5, 1024}, {257, 257 * 6 * 8}} {
		m := NewMux(Config{Logger: slog.New(slog.DiscardHandler)})
		for g := range tc.groups {
			m.Streams(uint16(g), "here")
		}
		conns := []*conn{}
		for range tc.limit + 1 {
			here, there := net.Pipe()
			there.Close()
			if c := m.track(here); c != nil {
				if m.advance(c, stageMember) == nil {
					conns = append(conns, c)
				} else {
					m.rejects.Full.Add(1) // Mux.open does the same.
					c.Close()
				}
			}
		}
		if len(conns) != tc.limit || m.Conns() != tc.limit || m.Rejects().Full.Load() != 1 {
			t.Errorf("%d groups: %d connections, %d refused, want %d and one more", tc.groups, len(conns), m.Rejects().Full.Load(), tc.limit)
		}
		for _, c := range conns {
			c.Close()
		}
		if m.Conns() != 0 {
			t.Errorf("%d groups: %d connections are left", tc.groups, m.Conns())
		}
		m.Close()
	}
}

// A bound that is lower than what the groups need is logged with both numbers; a sufficient one is not.
func TestALowBoundOfConnectionsIsLogged(t *testing.T) {
	for _, tc := range []struct {
		max, groups int
		want        string
	}{{0, 257, ""}, {ConnectionsMin, 3, ""}, {ConnectionsMin, 4, "bound=64 for_members=40 needed=48"}, {1024, 17, ""}} {
		var log bytes.Buffer
		m := NewMux(Config{Listener: newPipes(), ConnectionsMax: tc.max, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for g := range tc.groups {
			m.Streams(uint16(g), "here")
		}
		m.CheckConnectionsMax()
		if !strings.Contains(log.String(), tc.want) || (tc.want == "") != (log.Len() == 0) {
			t.Errorf("a bound of %d for %d groups is logged as %q", tc.max, tc.groups, log.String())
		}
		m.Close()
	}
}
