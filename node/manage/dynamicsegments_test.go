package manage_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard/command"
)

// clickers is an environment with a campaign on product p for everybody, and one on product q for a dynamic segment.
type clickers struct {
	*managetest.Environment
	t *testing.T
}

func newClickers(t *testing.T) *clickers {
	t.Helper()
	w := &clickers{managetest.New(t), t}
	seller(t, w.Environment)
	const campaign = `{"name":%q,"campaignType":"manual","budget":{"amount":900,"type":"total"},` +
		`"bids":[{"target":{"type":"product","id":%q},"amount":50}]%s}`
	const filter = `,"targetingFilters":{"targetingFilters":[{"type":"user_segment","segmentId":"clickers"}]}`
	const behaviors = `[{"logic":"and","action_type":"clicks","time_window":{"value":7},"frequency":{"value":1,"operator":"gte"},` +
		`"parameters":[{"entity_type":"vendor","entity_list":["v"]}]}]`
	for _, x := range [][3]string{
		{"PUT", catalogs + "/products", `{"products":[{"id":"q","name":"Q","vendors":["v"],"categories":[]}]}`},
		{"POST", "/public/v1/billing-service/vendors/v/balance", `{"balance":5000}`},
		{
			"PUT", "/public/v1/segment-service/segments",
			`{"segments":[{"id":"clickers","name":"C","config":{"type":"dynamic","definition":{"behaviors":` + behaviors + `}}}]}`,
		},
		{"POST", "/public/v1/campaign-service/campaigns?vendor_id=v", fmt.Sprintf(campaign, "for all", "p", "")},
		{"POST", "/public/v1/campaign-service/campaigns?vendor_id=v", fmt.Sprintf(campaign, "for clickers", "q", filter)},
	} {
		if rec := call(w.Environment, x[0], x[1], "management", x[2]); rec.Code >= 300 {
			t.Fatalf("%s: %d %s", x[1], rec.Code, rec.Body)
		}
	}
	return w
}

// evaluate lets time pass in all groups and evaluates the segment.
func (w *clickers) evaluate(d time.Duration) {
	w.t.Helper()
	w.Advance(d)
	for _, g := range w.Store.Groups.Groups() {
		tick := command.AppendAdvance(nil, w.Now().UnixMilli(), &command.Advance{})
		if _, _, err := w.Store.Groups.ProposeAt(w.t.Context(), g, tick); err != nil {
			w.t.Fatal(err)
		}
	}
	evaluation := jobs.SegmentEvaluation{Store: w.Store, Log: slog.New(slog.NewTextHandler(w.t.Output(), nil))}
	for range 3 { // The first makes the groups watch clicks.
		evaluation.Round(w.t.Context())
	}
}

// check compares the products that win for a user, and what the segment's answer contains. It returns the token of the first.
func (w *clickers) check(why, segment string, want ...string) (token string) {
	w.t.Helper()
	rec := call(w.Environment, "POST", "/v2/auctions", "auction",
		`{"auctions":[{"type":"listings","slots":2,"opaqueUserId":"anna","products":{"ids":["p","q"]}}]}`)
	var answer struct {
		Results []struct {
			Winners []struct{ ID, ResolvedBidID string }
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil || len(answer.Results) != 1 || len(answer.Results[0].Winners) == 0 {
		w.t.Fatalf("%s: %d %s", why, rec.Code, rec.Body)
	}
	var won []string
	for _, x := range answer.Results[0].Winners {
		won = append(won, x.ID)
	}
	if slices.Sort(won); !slices.Equal(won, want) {
		w.t.Errorf("%s: %v win, want %v", why, won, want)
	}
	rec = call(w.Environment, "GET", "/public/v1/segment-service/segments", "management", "")
	if !strings.Contains(rec.Body.String(), segment) {
		w.t.Errorf("%s: %d %s, want %s", why, rec.Code, rec.Body, segment)
	}
	return answer.Results[0].Winners[0].ResolvedBidID
}

// A campaign for a dynamic segment wins once the user did what the definition says, and neither before nor when the window
// has passed.
func TestACampaignForADynamicSegmentWins(t *testing.T) {
	w := newClickers(t)
	w.check("a new definition", `"size":0,"evaluated":0`, "p")
	w.evaluate(time.Second)
	token := w.check("before the click", `"size":0,"evaluated":100`, "p")
	click := fmt.Sprintf(`{"clicks":[{"id":"c1","opaqueUserId":"anna","occurredAt":%q,"resolvedBidId":%q}]}`, w.Now().UTC().Format(time.RFC3339), token)
	if rec := call(w.Environment, "POST", "/v2/events", "auction", click); rec.Code >= 300 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	w.check("before the evaluation", `"size":0`, "p")
	w.evaluate(time.Second)
	w.check("after the click", `"size":1`, "p", "q")
	w.evaluate(7*24*time.Hour - 2*time.Second)
	w.check("a second before seven days", `"size":1`, "p", "q")
	w.evaluate(2 * time.Second)
	w.check("seven days later", `"size":0`, "p")
}
