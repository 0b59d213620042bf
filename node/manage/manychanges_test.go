package manage_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestManyChangesOfTwoNodesLoseNone sends PATCHes of one campaign and of one product through two nodes, 40 of each through each node,
// four at a time. Each sender changes a member of its own and reads it back after every change. GAVEL_PATCHES=1000 sends as many of
// each through each node.
func TestManyChangesOfTwoNodesLoseNone(t *testing.T) {
	patches := 40
	if text := os.Getenv("GAVEL_PATCHES"); text != "" {
		var err error
		if patches, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	n := newTwoNodes(t)
	product := func(member string) func(int) string {
		return func(i int) string { return fmt.Sprintf(`{"products":[{"id":"p",`+member+`}]}`, i) }
	}
	campaign := func(member string) func(int) string {
		return func(i int) string { return fmt.Sprintf("{"+member+"}", i) }
	}
	const perNode = 2 // Senders of each path at each node.
	senders := []struct {
		path string
		body func(i int) string
		want func(i int) string // Of the state of path.
	}{
		{n.campaign, campaign(`"name":"n%d"`), func(i int) string { return fmt.Sprintf(" name:n%d ", i) }},
		{n.campaign, campaign(`"budget":{"amount":%d,"type":"daily"}`), func(i int) string { return fmt.Sprintf("[amount:%d ", i) }},
		{n.campaign, func(i int) string { return schedule(i % 100) }, func(i int) string { return fmt.Sprintf("hours:[%d %d ", i%100, i%100) }},
		{n.campaign, func(i int) string { return fmt.Sprintf(`{"targetRoas":%d}`, 1+i%20) }, func(i int) string { return fmt.Sprintf(" targetRoas:%d ", 1+i%20) }},
		{someProducts, product(`"price":%d`), func(i int) string { return fmt.Sprintf(" price:%d ", i) }},
		{someProducts, product(`"name":"n%d"`), func(i int) string { return fmt.Sprintf(" name:n%d ", i) }},
		{someProducts, product(`"metadata":{"color":"c%d"}`), func(i int) string { return fmt.Sprintf("color:c%d]", i) }},
		{someProducts, product(`"brand":{"id":"b%d"}`), func(i int) string { return fmt.Sprintf("brand:map[id:b%d]", i) }},
	}
	var all sync.WaitGroup
	for s, x := range senders {
		node := s % len(n.nodes)
		all.Go(func() {
			for i := 1; i <= patches/perNode && !t.Failed(); i++ {
				n.must(node, http.MethodPatch, x.path, x.body(i))
				if got := n.state(x.path); !strings.Contains(got, x.want(i)) {
					t.Errorf("sender %d: change %d, %q, is lost: %s", s, i, x.want(i), got)
				}
			}
		})
	}
	all.Wait()
	for s, x := range senders {
		if t.Failed() {
			return
		}
		if got, want := n.state(x.path), x.want(patches/perNode); !strings.Contains(got, want) {
			t.Errorf("sender %d: %q is lost at the end: %s", s, want, got)
		}
	}
}
