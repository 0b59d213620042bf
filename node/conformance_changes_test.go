package main_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// The next auction sees a change of the catalog or of a bid.
func TestConformanceChangesAreSeenAtOnce(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100)
	const products, categories = "catalog-search-service/catalogs/products", "catalog-search-service/catalogs/categories"
	product := func(id, category string) string {
		return fmt.Sprintf(`{"products":[{"id":%q,"name":"P","vendors":["v1"],"categories":[%q]}]}`, id, category)
	}
	category := func(id, parent string) string {
		return fmt.Sprintf(`{"categories":[{"id":%q,"name":"C","parentId":%s}]}`, id, parent)
	}
	s.manage(200, "PUT", products, product("p1", "leaf"))
	s.manage(200, "PUT", products, product("p2", "leaf"))
	campaign := s.campaign("v1", "", bid("p1", 50)+","+bid("p2", 40))
	var bids struct {
		Bids []struct {
			BidID  string
			Target struct{ ID string }
		}
	}
	s.decode(s.manage(200, "GET", "campaign-service/campaigns/"+campaign+"/bids", ""), &bids)
	path := map[string]string{}
	for _, b := range bids.Bids {
		path[b.Target.ID] = "campaign-service/campaigns/" + campaign + "/bids/" + b.BidID
	}

	both, leaf, root := `"products":{"ids":["p1","p2"]}`, `"category":{"id":"leaf"}`, `"category":{"id":"root"}`
	for _, step := range []struct {
		status             int
		method, path, body string
		request, want      string
	}{
		{200, "GET", products, "", leaf, ""}, // The category does not exist yet.
		{200, "PUT", categories, category("leaf", "null"), leaf, "p1 p2"},
		{200, "PUT", categories, category("root", "null"), root, ""},
		{200, "PUT", categories, category("leaf", `"root"`), root, "p1 p2"},
		{422, "PUT", categories, category("root", `"leaf"`), root, "p1 p2"},
		{200, "PATCH", products, `{"products":[{"id":"p1","active":false}]}`, both, "p2"},
		{200, "PATCH", products, `{"products":[{"id":"p1","active":true}]}`, both, "p1 p2"},
		{200, "PATCH", products, `{"products":[{"id":"p1","categories":[]}]}`, root, "p2"},
		{422, "PATCH", products, `{"products":[{"id":"p2","active":false},{"id":"nobody","active":false}]}`, both, "p1 p2"},
		{200, "DELETE", products, `{"ids":["p1","nobody"]}`, both, "p2"},
		{200, "PUT", products, product("p1", "leaf"), root, "p1 p2"},
		{200, "DELETE", categories, `{"ids":["root"]}`, root, ""},
		{200, "PATCH", path["p2"], `{"amount":60}`, both, "p2 p1"},
		{200, "PATCH", path["p2"], `{"isActive":false}`, both, "p1"},
		{200, "PATCH", path["p2"], `{"isActive":true,"location":"Berlin"}`, both, "p1"},
		{200, "PATCH", path["p1"], `{"triggers":[{"type":"product","value":{"productId":"p9"}}]}`, both, ""},
		{200, "GET", path["p1"][:strings.LastIndex(path["p1"], "/")], "", `"products":{"ids":["p1","p9"]}`, "p1"},
		{204, "DELETE", path["p1"], "", `"products":{"ids":["p1","p9"]}`, ""},
		{201, "POST", path["p1"][:strings.LastIndex(path["p1"], "/")], `{"bids":[` + bid("p1", 10) + `]}`, both, "p1"},
		{422, "POST", path["p1"][:strings.LastIndex(path["p1"], "/")], `{"bids":[` + bid("p2", 10) + `,{}]}`, both, "p1"},
	} {
		s.manage(step.status, step.method, step.path, step.body)
		if got := strings.Join(s.win(5, step.request).ids(), " "); got != step.want {
			t.Errorf("after %s %s %s: %q won on %s, want %q", step.method, step.path, step.body, got, step.request, step.want)
		}
	}
}

// A token with any changed character is refused.
func TestConformanceAlteredTokens(t *testing.T) {
	s := startNode(t)
	campaign := s.shop()
	token := s.token("p1")
	for i := range len(token) {
		for _, c := range []byte("A_z9") {
			if altered := token[:i] + string(c) + token[i+1:]; altered != token {
				if r := s.events(400, `{"clicks":[`+touch("x", altered)+`]}`); r.errCode() != "invalid_resolved_bid_id" {
					t.Errorf("%s: %s", altered, r.body)
				}
			}
		}
	}
	if f := s.report("campaigns/" + campaign); f.Clicks.Total != 0 {
		t.Errorf("altered tokens were counted: %+v", f.Clicks)
	}
}

// Many browsers report the same click at the same time, on both listeners: it is charged once.
func TestConformanceTheSameClickAtTheSameTime(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100)
	s.product("p1", "v1", "", "")
	campaign := s.campaign("v1", rich+","+first, bid("p1", 50))
	token := s.token("p1")
	same := `{"clicks":[` + touch("same", token) + `]}`
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			url := s.node.AuctionURL
			if i%2 == 1 {
				url = s.node.ManageURL
			}
			for j := range 4 {
				body := same
				if j == 3 {
					body = `{"clicks":[` + touch(fmt.Sprint(i), token) + `]}`
				}
				if r, err := s.try("POST", url+"/v2/events", s.node.Keys.AuctionKey, body); err != nil || r.status != 200 {
					s.Errorf("%v %d %s", err, r.status, r.body)
				}
			}
		})
	}
	group.Wait()
	s.checkCharges(campaign, "clicks", 33, 1, "50")
}
