package manage_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard/command"
)

// twoNodes are two listeners that share nothing but the replicated state, with a campaign and a product in it.
type twoNodes struct {
	*testing.T
	w             *managetest.Environment
	nodes         [2]*manage.Server
	campaign, bid string // Paths.
}

const someProducts = catalogs + "/products"

func newTwoNodes(t *testing.T) *twoNodes { return twoNodesOf(t, managetest.New(t)) }

func twoNodesOf(t *testing.T, w *managetest.Environment) *twoNodes {
	n := &twoNodes{T: t, w: w}
	n.nodes = [2]*manage.Server{n.w.Server, n.w.Node(t)}
	n.must(0, http.MethodPut, catalogs+"/vendors", `{"vendors":[{"id":"v","name":"V"}]}`)
	n.must(0, http.MethodPut, someProducts, `{"products":[{"id":"p","name":"P","vendors":["v"],"categories":["c"]}]}`)
	made := n.must(0, http.MethodPost, "/campaign-service/campaigns?vendor_id=v",
		`{"name":"c","campaignType":"manual","startDate":"2026-04-01T00:00:00Z","endDate":"2026-06-01T00:00:00Z",
		"bids":[{"target":{"type":"product","id":"p"},"amount":1}]}`)
	n.campaign = fmt.Sprint("/campaign-service/campaigns/", made["campaignId"])
	bids := n.must(0, http.MethodGet, n.campaign+"/bids", "")["bids"].([]any)
	n.bid = fmt.Sprint(n.campaign, "/bids/", bids[0].(map[string]any)["bidId"])
	return n
}

// must sends a request that has to succeed.
func (n *twoNodes) must(node int, method, path, body string) map[string]any {
	n.Helper()
	status, answer := sendTo(n.nodes[node], n.w, method, path, body)
	if status >= http.StatusBadRequest {
		n.Errorf("node %d: %s %s %s: %d %v", node, method, path, body, status, answer)
	}
	return answer
}

// state is everything that the tests change, by path.
func (n *twoNodes) state(path string) string {
	if path == n.bid {
		list := n.must(0, http.MethodGet, n.campaign+"/bids", "")["bids"].([]any)
		return fmt.Sprint(list)
	}
	if path == someProducts {
		return fmt.Sprint(n.must(0, http.MethodGet, someProducts+"/p", ""))
	}
	text := fmt.Sprint(n.must(0, http.MethodGet, path, ""))
	if path == n.campaign {
		text += fmt.Sprint(n.must(0, http.MethodGet, path+"/restrictions", ""))
	}
	return text
}

const settingsPath = "/marketplace-service/settings"

// TestTwoNodesThatReadTheSameLoseNothing: both nodes read the same version, then both write. Nothing that was answered 200 is lost.
func TestTwoNodesThatReadTheSameLoseNothing(t *testing.T) {
	n := newTwoNodes(t)
	type write struct{ method, path, body string }
	patch := func(path, body string) write { return write{http.MethodPatch, path, body} }
	product := func(member string) write { return patch(someProducts, `{"products":[{"id":"p",`+member+`}]}`) }
	restriction := func(kind int) write {
		return write{http.MethodPost, n.campaign + "/restrictions", fmt.Sprintf(`{"restrictionTypeId":%d,"limit":%d}`, kind, 1000+kind)}
	}
	for _, x := range []struct {
		name          string
		first, second write
		path          string
		want          []string // Of the state of path.
	}{
		{"bid: amount and pause", patch(n.bid, `{"amount":77}`), patch(n.bid, `{"isActive":false}`), n.bid, []string{"amount:77", "isActive:false"}},
		{"bid: location and amount", patch(n.bid, `{"location":"Paris"}`), patch(n.bid, `{"amount":78}`), n.bid, []string{"amount:78", "location:Paris"}},
		{"campaign: budget and pause", patch(n.campaign, `{"budget":{"amount":500,"type":"daily"}}`), patch(n.campaign, `{"isActive":false}`), n.campaign, []string{"amount:500", "isActive:false"}},
		{"product: price and name", product(`"price":12.5`), product(`"name":"Other"`), someProducts, []string{"price:12.5", "name:Other"}},
		{"product: metadata and vendors", product(`"metadata":{"color":"red"}`), product(`"vendors":["w"]`), someProducts, []string{"color:red", "vendors:[w]"}},
		{"product: brand and categories", product(`"brand":{"id":"acme"}`), product(`"categories":[]`), someProducts, []string{"brand:map[id:acme]", "categories:[]"}},
		{"campaign: restriction and schedule", restriction(1), patch(n.campaign, schedule(55)), n.campaign, []string{"limit:1001", "hours:[55 55"}},
		{"campaign: two restrictions", restriction(2), restriction(3), n.campaign, []string{"limit:1002", "limit:1003"}},
		{"settings: two members", patch(settingsPath, `{"autoApproveAssets":true}`), patch(settingsPath, `{"maxWinnersPerVendor":3}`), settingsPath, []string{"autoApproveAssets:true", "maxWinnersPerVendor:3"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			n := &twoNodes{t, n.w, n.nodes, n.campaign, n.bid}
			n.w.BeforeNextCommand(func() { n.must(1, x.second.method, x.second.path, x.second.body) })
			n.must(0, x.first.method, x.first.path, x.first.body)
			got := n.state(x.path)
			for _, want := range x.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s is lost: %s", want, got)
				}
			}
		})
	}
}

// schedule is a change of a campaign's schedule to so many percent in every hour.
func schedule(percent int) string {
	return fmt.Sprintf(`{"schedule":{"hours":[%s]}}`, strings.TrimSuffix(strings.Repeat(fmt.Sprint(percent, ","), 168), ","))
}

// TestARuleHoldsForChangesOfTwoNodes: a change is checked again against what the other node has written in between.
func TestARuleHoldsForChangesOfTwoNodes(t *testing.T) {
	n := newTwoNodes(t)
	n.w.BeforeNextCommand(func() { n.must(1, http.MethodPatch, n.campaign, `{"endDate":"2026-04-20T00:00:00Z"}`) })
	status, answer := sendTo(n.nodes[0], n.w, http.MethodPatch, n.campaign, `{"startDate":"2026-05-01T00:00:00Z"}`)
	if status != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(answer), "endDate must be after startDate") {
		t.Errorf("a start after the end of the other node: %d %v", status, answer)
	}
	got := n.must(0, http.MethodGet, n.campaign, "")
	if got["startDate"] != "2026-04-01T00:00:00.000Z" || got["endDate"] != "2026-04-20T00:00:00.000Z" {
		t.Errorf("the campaign is from %v to %v", got["startDate"], got["endDate"])
	}
	n.w.BeforeNextCommand(func() { n.must(1, http.MethodDelete, someProducts, `{"ids":["p"]}`) })
	status, answer = sendTo(n.nodes[0], n.w, http.MethodPatch, someProducts, `{"products":[{"id":"p","price":3}]}`)
	if status != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(answer), "is unknown") {
		t.Errorf("a change of a product that the other node has deleted: %d %v", status, answer)
	}
	if status, _ := send(n.w, http.MethodGet, someProducts+"/p", ""); status != http.StatusNotFound {
		t.Errorf("the deleted product is answered %d", status)
	}
	n.w.BeforeNextCommand(func() { n.must(1, http.MethodDelete, n.campaign, "") })
	status, answer = sendTo(n.nodes[0], n.w, http.MethodPost, n.campaign+"/restrictions", `{"restrictionTypeId":1,"limit":3}`)
	if status != http.StatusConflict || answer["errCode"] != "invalid_operation" || answer["message"] != "the campaign is terminated" {
		t.Errorf("a restriction of a campaign that the other node has ended: %d %v", status, answer)
	}
}

// TestAChangeThatIsAlwaysSecondIsRefused: a change that is always second is refused, so the client knows that it was not made.
func TestAChangeThatIsAlwaysSecondIsRefused(t *testing.T) {
	const triesMax = 200 // The test ends even if the change never does.
	n := newTwoNodes(t)
	percent, tried := 0, 0
	var faster func()
	faster = func() {
		percent, tried = 1+percent%100, tried+1
		n.must(1, http.MethodPatch, n.campaign, schedule(percent))
		if tried < triesMax {
			n.w.BeforeNextCommand(faster)
		}
	}
	n.w.BeforeNextCommand(faster)
	status, answer := sendTo(n.nodes[0], n.w, http.MethodPost, n.campaign+"/restrictions", `{"restrictionTypeId":1,"limit":3}`)
	n.w.BeforeNextCommand(func() {})
	if status != http.StatusConflict || answer["errCode"] != "invalid_operation" || !strings.Contains(fmt.Sprint(answer["message"]), "read the resource and repeat it") {
		t.Errorf("%d %v", status, answer)
	}
	if tried < 2 || tried == triesMax {
		t.Errorf("%d attempts", tried)
	}
	if list := n.must(0, http.MethodGet, n.campaign+"/restrictions", "")["restrictions"].([]any); len(list) != 0 {
		t.Errorf("refused, and made: %v", list)
	}
	settings := 0
	faster = func() {
		settings++
		n.must(1, http.MethodPatch, settingsPath, fmt.Sprintf(`{"maxWinnersPerVendor":%d}`, 1+settings%40))
		if settings < triesMax {
			n.w.BeforeNextCommand(faster)
		}
	}
	n.w.BeforeNextCommand(faster)
	status, answer = sendTo(n.nodes[0], n.w, http.MethodPatch, settingsPath, `{"geoMode":"h3"}`)
	n.w.BeforeNextCommand(func() {})
	if status != http.StatusConflict || answer["errCode"] != "invalid_operation" {
		t.Errorf("%d %v", status, answer)
	}
	if got := n.must(0, http.MethodGet, settingsPath, "")["geoMode"]; got != "label" {
		t.Errorf("refused, and the geoMode is %v", got)
	}
}

// TestChangesOfTwoNodesAtTheSameMomentBothHold: of two changes at the same moment, one through each node, both are answered 200 and
// both take effect.
func TestChangesOfTwoNodesAtTheSameMomentBothHold(t *testing.T) {
	n := newTwoNodes(t)
	restrictions := fmt.Sprint(n.campaign, "/restrictions")
	made := n.must(0, http.MethodPost, restrictions, `{"restrictionTypeId":1,"limit":1}`)
	restriction := fmt.Sprint(restrictions, "/", made["id"])
	for _, x := range []struct {
		name   string
		rounds int
		paths  [2]string
		bodies func(i int) (first, second string)
		state  string
		want   func(i int) []string
	}{
		{
			"members of a product", 300,
			[2]string{someProducts, someProducts},
			func(i int) (string, string) {
				return fmt.Sprintf(`{"products":[{"id":"p","price":%d}]}`, i), fmt.Sprintf(`{"products":[{"id":"p","name":"n%d"}]}`, i)
			},
			someProducts, func(i int) []string { return []string{fmt.Sprintf("price:%d ", i), fmt.Sprintf("name:n%d ", i)} },
		},
		{
			"amount and pause of a bid", 25,
			[2]string{n.bid, n.bid},
			func(i int) (string, string) {
				return fmt.Sprintf(`{"amount":%d}`, i), fmt.Sprintf(`{"isActive":%t}`, i%2 == 0)
			},
			n.bid, func(i int) []string {
				return []string{fmt.Sprintf("amount:%d ", i), fmt.Sprintf("isActive:%t ", i%2 == 0)}
			},
		},
		{
			"amount of a bid and pause of its campaign", 25,
			[2]string{n.bid, n.campaign},
			func(i int) (string, string) {
				return fmt.Sprintf(`{"amount":%d}`, i), fmt.Sprintf(`{"isActive":%t}`, i%2 == 0)
			},
			n.campaign, func(i int) []string { return []string{fmt.Sprintf("isActive:%t ", i%2 == 0)} },
		},
		{
			"restriction and schedule", 15,
			[2]string{restriction, n.campaign},
			func(i int) (string, string) {
				return fmt.Sprintf(`{"limit":%d}`, 1000+i), schedule(i)
			},
			n.campaign, func(i int) []string {
				return []string{fmt.Sprintf("limit:%d ", 1000+i), fmt.Sprintf("hours:[%d %d", i, i)}
			},
		},
		{
			"members of the settings", 15,
			[2]string{settingsPath, settingsPath},
			func(i int) (string, string) {
				return fmt.Sprintf(`{"maxWinnersPerVendor":%d}`, i), fmt.Sprintf(`{"autoApproveAssets":%t}`, i%2 == 0)
			},
			settingsPath, func(i int) []string {
				return []string{fmt.Sprintf("maxWinnersPerVendor:%d ", i), fmt.Sprintf("autoApproveAssets:%t ", i%2 == 0)}
			},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			n := &twoNodes{t, n.w, n.nodes, n.campaign, n.bid}
			for i := 1; i <= x.rounds && !t.Failed(); i++ {
				first, second := x.bodies(i)
				var both sync.WaitGroup
				both.Go(func() { n.must(0, http.MethodPatch, x.paths[0], first) })
				both.Go(func() { n.must(1, http.MethodPatch, x.paths[1], second) })
				both.Wait()
				got := n.state(x.state)
				for _, want := range x.want(i) {
					if !strings.Contains(got, want) {
						t.Fatalf("round %d: %s is lost: %s", i, want, got)
					}
				}
			}
		})
	}
}

// TestChangesOfTwoNodesBeforeTheirLevel: while a node of an older version is in the cluster, resources are written whole.
func TestChangesOfTwoNodesBeforeTheirLevel(t *testing.T) {
	n := twoNodesOf(t, managetest.NewAt(t, command.LevelVersions-1))
	n.must(0, http.MethodPatch, n.bid, `{"amount":7}`)
	n.must(1, http.MethodPatch, n.bid, `{"isActive":false}`)
	n.must(0, http.MethodPatch, n.campaign, `{"endDate":"2026-07-01T00:00:00Z","isActive":false}`)
	n.must(1, http.MethodPatch, n.campaign, schedule(7))
	n.must(0, http.MethodPatch, someProducts, `{"products":[{"id":"p","price":3},{"id":"p","name":"Q"}]}`)
	n.must(1, http.MethodPatch, someProducts, `{"products":[{"id":"p","vendors":["w"]}]}`)
	n.must(0, http.MethodPatch, settingsPath, `{"autoApproveAssets":true}`)
	for path, all := range map[string][]string{
		n.bid:        {"amount:7 ", "isActive:false "},
		n.campaign:   {"endDate:2026-07-01", "isActive:false ", "hours:[7 7"},
		someProducts: {"price:3 ", "name:Q ", "vendors:[w]"},
		settingsPath: {"autoApproveAssets:true"},
	} {
		for _, want := range all {
			if got := n.state(path); !strings.Contains(got, want) {
				t.Errorf("%s is lost: %s", want, got)
			}
		}
	}
}

// TestLearningSettingsNeedTheirLevel: while a node of an older version is in the cluster, a change of what that node cannot
// store is answered 503 and changes nothing, and all other settings can be changed.
func TestLearningSettingsNeedTheirLevel(t *testing.T) {
	n := twoNodesOf(t, managetest.NewAt(t, command.LevelPacing-1))
	for _, body := range []string{`{"learnedQuality":0.6}`, `{"trafficDates":[{"date":"2026-11-27","multiplier":2}],"autoApproveAssets":true}`} {
		status, answer := sendTo(n.nodes[0], n.w, http.MethodPatch, settingsPath, body)
		if status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %v, want 503", body, status, answer)
		}
	}
	n.must(0, http.MethodPatch, settingsPath, `{"maxWinnersPerVendor":2}`)
	if got := n.state(settingsPath); !strings.Contains(got, "autoApproveAssets:false") || !strings.Contains(got, "maxWinnersPerVendor:2") ||
		!strings.Contains(got, "learnedQuality:0 ") {
		t.Errorf("the settings are %s", got)
	}
}
