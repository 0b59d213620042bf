package transport

import (
	"log/slog"
	"net"
	"testing"
)

// A node with the most groups takes the connections of all its peers, one with few groups as many as ever, and none takes more.
func TestRoomForTheConnectionsOfAllGroups(t *testing.T) {
	for _, tc := range []struct{ groups, room int }{{0, 1024}, {5, 1024}, {257, 257 * 6 * 8}} {
		m := NewMux(Config{Logger: slog.New(slog.DiscardHandler)})
		for g := range tc.groups {
			m.Streams(uint16(g), "here")
		}
		conns := []*conn{}
		for range tc.room + 1 {
			here, there := net.Pipe()
			there.Close()
			if c := m.track(here); c != nil {
				if m.advance(c, stageMember) == nil {
					conns = append(conns, c)
				} else {
					m.rejects.Full.Add(1) // As open does.
					c.Close()
				}
			}
		}
		if len(conns) != tc.room || m.Conns() != tc.room || m.Rejects().Full.Load() != 1 {
			t.Errorf("%d groups: %d connections, %d refused, want %d and one more", tc.groups, len(conns), m.Rejects().Full.Load(), tc.room)
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
