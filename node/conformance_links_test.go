package main_test

import (
	"strings"
	"testing"
)

// Every row of the table of links between users holds, on both listeners, and no answer shows an id.
func TestConformanceLinkUsers(t *testing.T) {
	s := startNode(t)
	s.runTable("link-users.txt", linkUsers, nil)
	for _, r := range s.v2(linkUsers, `{"from":"jane@shop.example","to":["jane@shop.example"]}`) {
		if r.status != 400 || strings.Contains(string(r.body), "jane") {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
}

const linkUsers = "/v2/events/beta/link-users"
