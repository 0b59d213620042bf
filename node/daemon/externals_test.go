package daemon

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
)

// An external id leads to the campaign that has it, not to one that had it.
func TestExternalIDsFollowTheirCampaigns(t *testing.T) {
	var e externals
	first, second := ids.UUID{1}, ids.UUID{2}
	check := func(when string, want map[string]ids.UUID) {
		t.Helper()
		for id, campaign := range want {
			if got := e.resolve(7, []byte(id)); got != campaign {
				t.Errorf("%s: %q leads to %v, want %v", when, id, got, campaign)
			}
		}
		if got := e.resolve(8, []byte("a")); !got.IsZero() {
			t.Errorf("%s: another marketplace's id leads to %v", when, got)
		}
	}
	e.put(7, "", first)
	e.put(7, "a", first)
	check("created", map[string]ids.UUID{"a": first, "b": {}, "": {}})
	e.put(7, "b", first)
	check("renamed", map[string]ids.UUID{"a": {}, "b": first})
	e.put(7, "a", second)
	check("taken by another", map[string]ids.UUID{"a": second, "b": first})
	e.put(7, "a", first) // Of another format than the second.
	e.put(7, "", second)
	check("removed", map[string]ids.UUID{"a": first, "b": {}})
}
