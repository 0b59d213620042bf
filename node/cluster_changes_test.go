package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// memberChange is a member that one writer changes repeatedly through one node.
type memberChange struct {
	name, path string
	node       int
	body       func(i int) string
	shows      func(i int) string // The text of the changed member in the printed state.
	last       int                // The last change that was answered 200.
}

// TestChangesThroughTwoNodes sends 1,000 changes of one campaign and of one product through each of two nodes at the
// same time; each writer changes its own member. In the end the last change of every member that was answered 200 is in
// force on a third node.
func TestChangesThroughTwoNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three processes")
	}
	c := &cluster{T: t, client: &http.Client{Timeout: waitMax, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	c.nodes = nodetest.StartCluster(t, 3, nodetest.Options{Args: []string{
		"--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB",
	}})
	c.market(0)
	campaign, products := "/campaign-service/campaigns/"+c.campaign, "/catalog-search-service/catalogs/products"
	bids := c.manage(0, 200, "GET", campaign+"/bids", "").body["bids"].([]any)
	bid := fmt.Sprint(campaign, "/bids/", bids[0].(map[string]any)["bidId"])
	restriction := c.waitForLevel(products, campaign+"/restrictions")

	is := func(format string) func(int) string { return func(i int) string { return fmt.Sprintf(format, i) } }
	product := func(node int, name, format, shows string) *memberChange {
		return &memberChange{name, products, node, is(`{"products":[{"id":"p1",` + format + `}]}`), is(shows), 0}
	}
	on := func(format string) func(int) string { // The last change is a pause.
		return func(i int) string { return fmt.Sprintf(format, i%2 == 1) }
	}
	all := []*memberChange{
		{"name", campaign, 0, is(`{"name":"n%d"}`), is("name:n%d "), 0},
		{"budget", campaign, 0, is(`{"budget":{"amount":1%05d,"type":"daily"}}`), is("amount:1%05d "), 0},
		{"bid amount", bid, 0, is(`{"amount":%d}`), is("amount:%d "), 0},
		{"restriction", fmt.Sprint(campaign, "/restrictions/", restriction), 0, is(`{"limit":1%05d}`), is("limit:1%05d "), 0},
		{"pause", campaign, 1, on(`{"isActive":%t}`), on("isActive:%t isAutoTrigger"), 0},
		{"bid pause", bid, 1, on(`{"isActive":%t}`), on("isActive:%t location"), 0},
		{"bid location", bid, 1, is(`{"location":"l%d"}`), is("location:l%d "), 0},
		{"target", campaign, 1, is(`{"targetRoas":1.%03d}`), func(i int) string { return "targetRoas:" + strings.TrimRight(fmt.Sprintf("1.%03d", i), "0") }, 0},
		product(0, "name", `"name":"n%d"`, "name:n%d "), product(0, "price", `"price":%d`, "price:%d "),
		product(0, "ean", `"ean":"%d"`, "ean:%d "), product(0, "brand", `"brand":{"id":"b%d"}`, "brand:map[id:b%d]"),
		product(1, "description", `"description":"d%d"`, "description:d%d "), product(1, "categories", `"categories":["c%d"]`, "categories:[c%d]"),
		product(1, "metadata", `"metadata":{"m":"%d"}`, "metadata:map[m:%d]"), product(1, "globalId", `"globalId":"g%d"`, "globalId:g%d "),
	}
	const perMember = 250 // Four members of each resource for each node.
	began := time.Now()
	var refused atomic.Int64
	var writers sync.WaitGroup
	for _, m := range all {
		writers.Go(func() {
			for i := 1; i <= perMember; i++ {
				switch status := c.change(m, i); status {
				case http.StatusOK:
					m.last = i
				case http.StatusConflict: // The change was not made, and the answer says so.
					refused.Add(1)
				default:
					t.Errorf("%s, change %d: %d", m.name, i, status)
					return
				}
			}
		})
	}
	writers.Wait()
	t.Logf("%d changes in %s, %d refused with 409", len(all)*perMember, time.Since(began), refused.Load())
	if refused.Load() > perMember { // Only restrictions are written as a whole.
		t.Errorf("%d changes were refused", refused.Load())
	}
	state := map[string]string{products: fmt.Sprint(c.manage(2, 200, "GET", products+"/p1", "").body)}
	state[bid] = fmt.Sprint(c.manage(2, 200, "GET", campaign+"/bids", "").body)
	state[campaign] = fmt.Sprint(c.manage(2, 200, "GET", campaign, "").body, c.manage(2, 200, "GET", campaign+"/restrictions", "").body)
	for _, m := range all {
		path := m.path
		if m.name == "restriction" {
			path = campaign
		}
		if want := m.shows(m.last); m.last == 0 || !strings.Contains(state[path], want) {
			t.Errorf("%s: %q, the last that was answered 200, is lost: %s", m.name, want, state[path])
		}
	}
}

func (c *cluster) change(m *memberChange, i int) int {
	n := c.nodes[m.node]
	s, err := c.send("PATCH", n.ManageURL+"/public/v1"+m.path, n.Keys.ManagementKey, m.body(i))
	if err != nil {
		c.Errorf("%s, change %d: %v", m.name, i, err)
	}
	return s.status
}

// waitForLevel waits until the groups of the catalog and of the campaign have the newest feature level. A brand and a
// restriction need a level, and a group reaches its newest level in one step. It returns the id of the restriction.
func (c *cluster) waitForLevel(products, restrictions string) (restriction any) {
	n := c.nodes[0]
	ask := func(method, path string, want int, body string) func() bool {
		return func() bool {
			s, err := c.send(method, n.ManageURL+"/public/v1"+path, n.Keys.ManagementKey, body)
			restriction = s.body["id"]
			return err == nil && s.status == want
		}
	}
	c.eventually("a brand", ask("PUT", products, http.StatusOK,
		`{"products":[{"id":"p1","name":"Product","vendors":["v1"],"categories":["c1"],"price":12.5,"brand":{"id":"b"}}]}`))
	c.eventually("a restriction", ask("POST", restrictions, http.StatusCreated, `{"restrictionTypeId":1,"limit":1}`))
	return restriction
}
