package main_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// sameStateAfterReplay restarts the node twice without a write in between. Each start rebuilds memory from the state
// database and replays the log behind it; the digest of every group's state has to come out the same.
func (c *crash) sameStateAfterReplay() {
	c.t.Helper()
	before := c.digests()
	for replay := range 2 {
		if err := c.kill(); err != nil {
			c.t.Fatal(err)
		}
		c.restart()
		after := c.digests()
		if !maps.Equal(before, after) {
			c.t.Errorf("replay %d: state digests by group were %v and are %v", replay+1, before, after)
		}
	}
}

// digests reads the state digest of each raft group from the metrics.
func (c *crash) digests() map[string]string {
	c.t.Helper()
	resp, err := http.Get(c.node.ManageURL + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("/metrics: %d %v", resp.StatusCode, err)
	}
	all := map[string]string{}
	for l := range strings.Lines(string(text)) {
		var group, value string
		if n, _ := fmt.Sscanf(l, `gavel_raft_state_digest{group=%q} %s`, &group, &value); n == 2 {
			all[group] = value
		}
	}
	if len(all) == 0 {
		c.t.Fatal("/metrics has no gavel_raft_state_digest")
	}
	return all
}
