package main_test

import "testing"

// Every row of the tables of events holds, with valid and invalid tokens.
func TestConformanceEventFields(t *testing.T) {
	s := startNode(t)
	s.shop()
	foreign := startNode(t)
	foreign.shop()
	token := s.token("p1")
	damaged := []byte(token)
	damaged[len(damaged)/2] ^= 1
	quoted := func(s string) string { return `"` + s + `"` }
	s.runTable("events.txt", "/v2/events", map[string]string{
		"token": quoted(token), "foreign": quoted(foreign.token("p1")), "damaged": quoted(string(damaged)),
		"shortened": quoted(token[:len(token)-1]), "padded": quoted(token + "=="),
		"event":    `{"id":"e","occurredAt":"2024-06-01T12:00:00Z","opaqueUserId":"u"}`,
		"purchase": `{"id":"e","occurredAt":"2024-06-01T12:00:00Z","opaqueUserId":"u","items":[{"productId":"p"}]}`,
		"pageview": `{"id":"e","occurredAt":"2024-06-01T12:00:00Z","opaqueUserId":"u","page":{"type":"home"}}`,
		"item":     `{"productId":"p"}`,
	})
}
