package leadership

import (
	"testing"

	"github.com/hashicorp/raft"
)

// Neighbouring groups have different preferred leaders, and Rank counts on from there, in the order of nodes and
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
			if got := Rank(c, uint16(group), id); got != i {
				t.Errorf("group %d: %s has rank %d, want %d", group, id, got, i)
			}
		}
		if got, found := Preferred(c, uint16(group)); !found || got.ID != want[0] {
			t.Errorf("group %d: %s should lead, want %s", group, got.ID, want[0])
		}
		if got := Rank(c, uint16(group), "n4~0"); got != 0 {
			t.Errorf("group %d: one without a vote has rank %d", group, got)
		}
	}
	if _, found := Preferred(raft.Configuration{}, 1); found || Rank(raft.Configuration{}, 1, "n1~9") != 0 {
		t.Error("a group without voters has a leader")
	}
}
