package main_test

import "testing"

// The bodies of the public clients are accepted, also those of clients that cannot be installed.
func TestConformanceClientBodies(t *testing.T) {
	s := startNode(t)
	s.shop()
	s.runTable("clients-auctions.txt", "/v2/auctions", nil)
	s.runTable("clients-events.txt", "/v2/events", map[string]string{
		"token": `"` + s.token("p1") + `"`, "event": `{"id":"e","occurredAt":"2024-06-01T12:00:00Z","opaqueUserId":"u"}`,
	})
}
