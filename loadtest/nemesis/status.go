//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

var (
	// errSkip says that this machine cannot inject the fault.
	errSkip = errors.New("not possible here")
	// errNotInjected says that the fault was not injected after all, so it is not recorded.
	errNotInjected = errors.New("the fault was not injected")
)

var scraper = &http.Client{Timeout: 2 * time.Second}

// groupState is a Raft group by the metrics of a node. Index and digest were read at the same moment.
type groupState struct {
	leads  bool
	index  uint64
	digest string
}

// scrape reads the state of all groups from the metrics of a node.
func (r *run) scrape(ctx context.Context, node int) (map[string]groupState, error) {
	text, status, err := r.request(ctx, http.MethodGet, r.w.Nodes[node].ManageURL+"/metrics", nil)
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("metrics: %d %w", status, err)
	}
	groups := map[string]groupState{}
	for line := range strings.Lines(string(text)) {
		var name, value string
		open, end := strings.IndexByte(line, '{'), strings.IndexByte(line, '}')
		if open < 0 || end < open || !strings.HasPrefix(line, "gavel_raft_") {
			continue
		}
		if n, _ := fmt.Sscanf(line[open:], "{group=%q} %s", &name, &value); n != 2 {
			continue
		}
		g := groups[name]
		switch line[:open] {
		case "gavel_raft_leader":
			g.leads = value == "1"
		case "gavel_raft_applied_index":
			var index float64
			_, err = fmt.Sscanf(value, "%g", &index)
			g.index = uint64(index)
		case "gavel_raft_state_digest":
			g.digest = value
		}
		groups[name] = g
	}
	return groups, err
}

// request makes one request to a management listener and returns body and status.
func (r *run) request(ctx context.Context, method, url string, body []byte) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+r.keys.management)
	req.Header.Set("Content-Type", "application/json")
	resp, err := scraper.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = resp.Body.Close() }() // It was read.
	text, err := io.ReadAll(resp.Body)
	return text, resp.StatusCode, err
}

// sampleGroups scrapes all nodes at the same moment and records their digests. It returns the groups of each node, nil for a node that
// did not answer.
func (r *run) sampleGroups(ctx context.Context) []map[string]groupState {
	all := make([]map[string]groupState, len(r.w.Nodes))
	var group sync.WaitGroup
	for i := range r.w.Nodes {
		group.Go(func() {
			if states, err := r.scrape(ctx, i); err == nil {
				all[i] = states
			}
		})
	}
	group.Wait()
	r.h.With(func(h *history.History) {
		for i, states := range all {
			for name, g := range states {
				if g.index > 0 && g.digest != "" {
					h.Digests = append(h.Digests, history.Digest{Node: r.w.Nodes[i].ID, Group: name, Index: g.index, Digest: g.digest})
				}
			}
		}
	})
	return all
}

// sample samples all groups every 2 s until the context ends.
func (r *run) sample(ctx context.Context) {
	for wait(ctx, 2*time.Second) {
		r.sampleGroups(ctx)
	}
}

// awaitEqualIndex samples until all nodes were seen at the same index of every group, so that their digests were compared.
func (r *run) awaitEqualIndex(ctx context.Context) error {
	equal := map[string]bool{}
	for {
		all := r.sampleGroups(ctx)
		missing := false
		for name, first := range all[0] {
			together := true
			for _, states := range all {
				together = together && states != nil && states[name].index == first.index
			}
			equal[name] = equal[name] || together
			missing = missing || !equal[name]
		}
		if len(all[0]) > 0 && !missing {
			return nil
		}
		if !wait(ctx, 30*time.Millisecond) {
			return fmt.Errorf("the nodes were never seen at the same index of every group: %v", all)
		}
	}
}

// leaderOf returns the ready node that leads a group. The number is taken modulo the number of groups.
func (r *run) leaderOf(ctx context.Context, number int) (node int, ok bool) {
	all := r.sampleGroups(ctx)
	names := map[string]bool{}
	for _, states := range all {
		for name := range states {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return 0, false
	}
	name := groupNames(names)[number%len(names)]
	for i, states := range all {
		if states[name].leads && r.supervisor.isReady(i) {
			return i, true
		}
	}
	return 0, false
}

func groupNames(names map[string]bool) []string {
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

const operatorBase = "/operator/v1/cluster"

// transferTo asks the operator API of a ready node to move a leadership to a node. It returns errNotInjected when the request is refused
// or no node is ready.
func (r *run) transferTo(ctx context.Context, number, to int) error {
	names := map[string]bool{}
	for _, states := range r.sampleGroups(ctx) {
		for name := range states {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return errNotInjected
	}
	for i, n := range r.w.Nodes {
		if !r.supervisor.isReady(i) {
			continue
		}
		_, status, err := r.request(ctx, http.MethodPost, n.ManageURL+operatorBase+"/transfer",
			fmt.Appendf(nil, `{"group":%s,"node":%q}`, groupNames(names)[number%len(names)], r.w.Nodes[to].ID))
		if err != nil || status >= http.StatusBadRequest {
			return errNotInjected
		}
		return nil
	}
	return errNotInjected
}

// awaitAllVoters waits until every node says that every node is a voter of every group and less than 1,000 entries behind. All nodes are
// asked: a node that was down may still list members that are none any more, and only the leader of a group knows for sure.
func (r *run) awaitAllVoters(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recoverMax)
	defer cancel()
	for {
		all, last := true, ""
		for i := range r.w.Nodes {
			if says, text := r.votersAt(ctx, i); !says {
				all, last = false, text
			}
		}
		if all {
			return nil
		}
		if !wait(ctx, 200*time.Millisecond) {
			return fmt.Errorf("not all nodes became voters within %v: %s", recoverMax, last)
		}
	}
}

// votersAt reports whether a node says that all nodes vote, and returns its answer as text.
func (r *run) votersAt(ctx context.Context, node int) (all bool, said string) {
	text, status, err := r.request(ctx, http.MethodGet, r.w.Nodes[node].ManageURL+operatorBase, nil)
	said = fmt.Sprintf("%d %.1000s %v", status, text, err)
	var cluster struct {
		Nodes []struct {
			Voter, Reachable bool
			Lag              uint64
		}
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(text, &cluster) != nil || len(cluster.Nodes) != len(r.w.Nodes) {
		return false, said
	}
	for _, n := range cluster.Nodes {
		if !n.Voter || !n.Reachable || n.Lag >= 1_000 {
			return false, said
		}
	}
	return true, said
}
